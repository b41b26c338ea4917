"""Small templates, one for each place where a Jinja engine in JavaScript is known to differ from Python's."""

# What `@huggingface/jinja` does otherwise without a word, by subject. The values of VALUES can be used.
SNIPPETS = {
    "the five that were known": [
        "{{ 1.0 }} {{ 2.50 }} {{ [1.0, 0.1]|tojson }} {{ 3 * 1.5 }} {{ 7 / 2 }} {{ 6 / 2 }} {{ 1.0 ~ '' }}",
        "[{{ '\\n a \\n'.strip('\\n') }}][{{ 'abcab'.lstrip('ab') }}][{{ 'abcab'.rstrip('ab') }}][{{ 'xax'|trim('x') }}]",
        "{{ none|string }} {{ true|string }} {{ 1|string }} {{ calls[0].arguments|string }}",
        "{% if true %}\r\n  a\r\n  {% endif %}\r\nb\rc\r\n",
        "{{ none }} {{ [none, true, 'a', \"it's\", 1.0, []] }} {{ {'a': none} }} {{ (1, 'b') }} {{ true }}",
        "{{ empty[0] }}{{ empty[0] is undefined }}{{ [1][-1] }}{{ [1][5] }}",
    ],
    "printing": [
        "{{ 123456789012345680.0 }} {{ 0.00001 }} {{ 0.0001 }} {{ -0.0 }} {{ 1000000.0 }}",
        "{{ ['\\n', '\\t', 'é', '\\u0085', '\\u200b', '\\\\', '\U0001f642', '\\x7f', '\"', '\\'\"'] }}",
        "{{ [nothing, (none, 1), {'k': 'v'}] }}{{ {} }}{{ [] }}{{ [[]]|string }}",
        "{{ none ~ true ~ 1.0 ~ [1] ~ nothing ~ {'a': 1} }}",
        "{{ [none, true, 1.0, 'x', [1]]|join('|') }} {{ 'añ\U0001f642'|join('-') }}",
    ],
    "tojson": [
        "{{ [1.0, 1, true, none, 'é<>&\\'\"/', '\\u2028\\x7f']|tojson }}{{ {'b': 1, 'a': {'d': [], 'c': {}}}|tojson }}",
        "{{ {'b': 1, 'a': [1, {}]}|tojson(indent=2) }}{{ [1]|tojson(indent=0) }}{{ [[]]|tojson(indent='\\t') }}",
        "{{ {'ä': 1, 'Z': 2, 'a': 3, '\U0001f642': 4, '\uff5e': 5}|tojson(sort_keys=true) }}",
        "{{ 'é\U0001f642\\x7f'|tojson(ensure_ascii=true) }} {{ 'é'|tojson(true) }} {{ [1, 2]|tojson(separators=(',', ':')) }}",
        "{{ {'a': 1}|tojson(false, 4) }}{{ (1, 2)|tojson }}{{ 0.1|tojson }}{{ [1]|tojson|safe }}",
    ],
    "text": [
        "{{ '\U0001f642a'|length }} {{ '\U0001f642a'[0] }} {{ '\U0001f642ab'[1] }} {{ '\U0001f642ab'[::-1] }} {{ 'añb'.find('b') }}",
        "{{ 'hELLO wORLD-foo (bar)'|capitalize }} {{ 'hELLO wORLD-foo (bar) it\\'s'|title }} {{ 'ΑΣ ΑΣ'|lower }} {{ 'ß'|upper }}",
        "[{{ '\\ufeff\\x85 a\\x1c'.strip() }}] [{{ '\\ufeffa'|trim }}] {{ 'a\\x85b\\x1cc\\ufeffd'.split()|length }}",
        "{{ ' a b  c '.split(none, 1) }} {{ 'a,b,c'.split(',', 1) }} {{ 'a,b,c'.rsplit(',', 1) }} {{ 'abc'.split(maxsplit=1) }}",
        "{{ 'aXbX'.replace('X', '-', 1) }} {{ 'a\U0001f642'.replace('', '.') }} {{ 'a.c'|replace('.', 'b') }} {{ 'abc'.replace('', '-', 2) }}",
        "{{ 'a\\r\\nb\\x0bc\\x85d'.splitlines() }} {{ 'a\\n\\nb\\n'|indent(2) }}|{{ 'a\\n\\nb'|indent(width=1, first=true, blank=true) }}|{{ 'x\\ny'|indent('> ') }}",
        "{{ 'ab' * 3 }} {{ 'a' < 'B' }} {{ '\U0001f642' > '\uff5e' }} {{ 'a' in 'abc' }} {{ 'abc'.startswith(('x', 'a')) }}",
        "{{ 'a\\'b' 'c' }} {{ 'A1' is upper }} {{ '1' is lower }} {{ ' x '|trim|length }} {{ 'b,a'.split(',')|sort|join }}",
    ],
    "numbers": [
        "{{ -7 % 3 }} {{ 7 % -3 }} {{ -7 // 2 }} {{ 7.5 % 2 }} {{ 1.0 // 0.1 }} {{ 'inf'|float // 2 }} {{ -8.5 // 14.0 }} {{ 3 % -1.5 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ -2 ** 2 }}",
        "{{ '3.7'|int }} {{ '12abc'|int }} {{ 'x'|int(5) }} {{ ' 7 '|int }} {{ '1e3'|int }} {{ -3.7|int }} {{ '1_0'|int }} {{ none|int(4) }} {{ true|int }}",
        "{{ '2'|float }} {{ 'x'|float }} {{ 3|float }} {{ 'inf'|float }} {{ -2|abs }} {{ -2.0|abs }} {{ 1 + true }}",
        "{{ true == 1 }} {{ 1 == 1.0 }} {{ '' == false }} {{ none == false }} {{ [1] == [1] }} {{ {'a': [1]} == {'a': [1]} }} {{ (1,2) == [1,2] }}",
        "{{ true is number }} {{ true is integer }} {{ 1.0 is integer }} {{ 1.0 is float }} {{ 3 is odd }} {{ 1 in [true] }} {{ none in [none] }} {{ [1] in [[1]] }}",
        "{{ 1 if nothing else 2 }} {{ (1 if false) is undefined }} {{ nothing == nope }} {{ nothing|default(none) }} {{ ''|default('d', true) }} {{ none|default('d') }}",
    ],
    "collections": [
        "{{ rich.items is callable }} {{ rich['items'] }} {{ rich.get('items') }} {{ rich.count is undefined }} {% for k, v in rich.items() %}{{ k }}{{ v }}{% endfor %}",
        "{{ rich|dictsort }} {{ {'B': 1, 'a': 2, '_': 0}|dictsort }} {{ {'B': 1, 'a': 2}|dictsort(true) }} {{ {'x': 2, 'y': 1}|dictsort(by='value') }}",
        "{{ ['b', 'A', 'a', 'B']|sort }} {{ ['b', 'A', 'a', 'B']|sort(case_sensitive=true) }} {{ ['a', 'A', 'b']|unique|list }} {{ [2, 1.5, true]|sort }}",
        "{% set roles = messages|map(attribute='role') %}{{ roles|list }}{{ roles|list }} {{ (messages|selectattr('role')) is sequence }}",
        "{% if messages|selectattr('role', 'equalto', 'nobody') %}a generator is true{% endif %} {{ messages|rejectattr('role', 'in', ['user'])|list|length }}",
        "{{ [1, none, '', 0, 'a']|select|list }} {{ [1, none]|reject('none')|list }} {{ ['a ', ' b']|map('trim')|list }} {{ calls|map(attribute='arguments.a.0', default='-')|list }}",
        "{{ [3, 1][::-1] }} {{ 'abc'[-2:] }} {{ [1, 2, 3][5:] }} {{ [1, 2, 3][-1::-2] }} {{ [1, 2, 3][:none] }} {{ 'abc'|reverse }} {{ [1, 2]|reverse|list }} {{ [1, 2]|last }}",
        "{{ rich is mapping }} {{ rich is sequence }} {{ rich is iterable }} {{ nothing is iterable }} {{ 'x' is sequence }} {{ rich.items() is sequence }} {{ none is iterable }}",
        "{{ range(3)|list }} {{ range(5, 0, -2)|list }} {{ range(3)[1] }} {{ 'role' in messages[0] }} {{ 2 in range(3) }} {{ range(0)|length }} {% for c in 'añ\U0001f642' %}{{ c }}.{% endfor %}",
        "{{ ('a' == 'a') != (1 % 2 == 0) }} {{ not 'a' in 'b' }} {{ (1 < 2) == true }} {{ 'a' ~ 1 + 'b' ~ 2 }}",
    ],
    "scopes": [
        "{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = i + 5 %}{{ x }}{% endfor %}{{ x }}",
        "{% for i in [1, 2, 3] %}{% if i == 2 %}{% set y = 'set' %}{% endif %}[{{ y }}]{% endfor %}",
        "{% macro m() %}{{ z }}{% endmacro %}{% for z in [1, 2] %}<{{ m() }}>{% endfor %}{% set z = 3 %}<{{ m() }}>",
        "{% set b %}{% set inner = 1 %}in{% endset %}{{ b }}{{ inner }}{% filter upper %}{% set f = 'f' %}{{ f }}{% endfilter %}{{ f }}",
        "{% generation %}{% set g = 1 %}{{ g }}{% endgeneration %}[{{ g }}]",
        "{% for i in [1] %}{{ mood }}{% endfor %}{% set mood = 'later' %}{{ mood }}",
        "{% for i in [1] %}{{ mood }}{% endfor %}{% if false %}{% set mood = 'later' %}{% endif %}{{ mood }}",
        "{% for i in [1, 2] %}{% continue %}{% else %}no turn ended{% endfor %}{% for i in [1] %}{{ i }}{% else %}none{% endfor %}",
        "{% for i in [1, 2, 3] if i != 2 %}{{ loop.index }}/{{ loop.length }}{{ loop.previtem }}{{ loop.nextitem }} {% endfor %}{{ loop is defined }}",
        "{% set ns = namespace(a=none, b=1) %}{% for i in [1, 2] %}{% set ns.b = ns.b + i %}{% endfor %}{{ ns.b }}{{ ns.a }}{{ ns.c }}",
        "{% macro box(a, b='d', c=a) %}{{ a }}{{ b }}{{ c }}{{ caller() if caller }};{% endmacro %}{{ box(1) }}{{ box(1, c=2) }}{{ box() }}{% call box(0) %}body{% endcall %}",
        "{% for a, (b, c) in [(1, (2, 3))] %}{{ a }}{{ b }}{{ c }}{% endfor %}{% set p, q = 'xy' %}{{ q }}{{ p }}",
    ],
    "white space": [
        "a-}\nb{-\n  {- c %}\n#}\nd }}\ne",
        "x  {% generation %}{{- 'y' -}}  {% endgeneration %}  z\n{%- generation -%}\n w \n{%- endgeneration -%}\n v",
        "  {% if true %}  \n\ta\n  {%+ if true %}b{% endif +%}\n{% endif %}c  {# d #}  \n  {#- e -#}\n f {#+ g +#}\n h",
        "\ufeff {%- if true -%} \ufeff a \x85\n{%- endif %}\x1c{{- 'b' }}\u2028  {% if true %}c{% endif %}",
        "{{ 'a{% b %}c{# d #}' }}{{ \"}} %} -%}\" }}{# {{ 'x' #}{% set s = '{%- raw -%}' %}{{ s }}",
        "{{{'a': {'b': 1}}['a']['b']}}{% set d = {'x': {'y': 2}} %}{{ d.x.y }}\n\n",
    ],
}  # fmt: skip

VALUES = {
    "empty": [],
    "mood": "calm",
    "rich": {"items": [1], "get": 2, "role": "x"},
    "calls": [{"arguments": {"a": [1.5, None]}}, {"arguments": {}}],
}
MESSAGES = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
