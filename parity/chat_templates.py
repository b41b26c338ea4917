"""Chat templates of our own. Each does what the templates of some family do, in other words and in another order."""

from family_templates import FAMILIES

# Like Llama 3's: the BOS comes from the template, a turn has a header, words are trimmed, the head tells the day, tools
# stand in the head or in the first question, an answer holds one call, and what cannot be shown is refused.
HEADED = r"""
{#- Who speaks, a mark, the words, a mark. #}
{%- macro turn(speaker, words) -%}
    <|turn|>{{ speaker }}<|says|>
    {{- "\n" ~ words ~ "<|/turn|>" -}}
{%- endmacro %}

{%- macro offered() %}
    {%- for tool in tools %}
        {{- "Tool " ~ loop.index ~ " of " ~ loop.length ~ ": " ~ tool | tojson(indent=4) ~ "\n" }}
    {%- endfor %}
{%- endmacro %}

{{- bos_token -}}
{% if tools is none -%}
    {% set tools_in_user_message = false -%}
{% elif tools_in_user_message is not defined -%}
    {% set tools_in_user_message = true -%}
{% endif -%}
{% set rules = "" -%}
{% if (messages | first).role == "system" -%}
    {% set rules, messages = messages[0]["content"] | trim, messages[1:] -%}
{% endif -%}

{% set head -%}
    {% if date_string is defined -%}
        Today: {{ date_string }}
    {%- else -%}
        Today: some day of a year of {{ strftime_now("%Y") | length }} digits
    {%- endif %}

    {%- if tools is not none %}{{ "\nTools: " ~ tools | length }}{% endif %}
    {%- if tools and not tools_in_user_message %}{{ "\n" + offered() }}{% endif %}
    {%- if rules %}{{ "\n\n" + rules }}{% endif %}
{% endset -%}
{{ turn("system", head) -}}

{% for said in messages -%}
    {% if said.tool_calls -%}
        {% if said["tool_calls"] | length > 1 -%}
            {{ raise_exception("An answer holds one call, here are " ~ said.tool_calls | length) }}
        {%- endif -%}
        {% set wanted = (said.tool_calls | map(attribute="function") | list)[-1] -%}
        {{ turn(said.role, '{"do": ' ~ wanted.name | tojson ~ ', "using": ' ~ wanted.arguments | tojson ~ "}") -}}
    {% elif said.role in ["tool", "ipython"] -%}
        {{ turn("result", said.content | tojson if said.content is iterable else said.content) -}}
    {% elif loop.first and tools_in_user_message -%}
        {{ turn(said.role, offered() ~ "\nThe question: " ~ said.content | trim) -}}
    {% else -%}
        {{ turn(said.role, said["content"] | trim) -}}
    {% endif -%}
{% else -%}
    {% if tools_in_user_message -%}
        {{ raise_exception("Nobody asks, so the tools have no place.") }}
    {%- endif -%}
{% endfor -%}
{{ "<|turn|>assistant<|says|>\n" if add_generation_prompt }}"""

# Like Qwen 2.5's: a system text where the conversation has none, tools as lines of JSON, calls behind the words of an
# answer, and neighbouring replies of tools in one turn of the user.
GROUPED = r"""{%- set given = messages[0].content if messages[0].role == "system" %}
{{- "<|turn|>system\n" ~ given | default("You weigh grain and words.") }}
{%- if tools %}
    {{- "\n\nWhat may be called, one a line:" }}
    {%- for tool in tools %}
        {{- "\n" ~ tool | tojson }}
    {%- endfor %}
{%- endif %}
{{- "<|/turn|>\n" }}
{%- for part in messages[(1 if given is defined else 0):] %}
    {%- if part.role == "tool" %}
        {%- if loop.first or loop.previtem.role != part.role %}<|turn|>user{% endif %}
        {{- "\n<reply>" ~ (part.name ~ ": " if part.name) ~ part.content ~ "</reply>" }}
        {%- if not loop.last and loop.nextitem.role == part.role %}{% continue %}{% endif %}
    {%- else %}
        {{- "<|turn|>" + part.role + "\n" + part.content }}
        {%- for call in part.tool_calls or [] %}
            {{- "\n<call>" ~ call.function.name }}
            {%- if call.function.arguments is mapping %}
                {%- for name, value in call.function.arguments | dictsort %}
                    {{- (", " if loop.index0 else " with ") ~ name ~ "=" ~ value | tojson }}
                {%- endfor %}
            {%- else %}
                {{- " as " ~ call.function.arguments }}
            {%- endif %}
            {{- "</call>" }}
        {%- endfor %}
    {%- endif %}
    {{- "<|/turn|>\n" }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- "<|turn|>assistant\n" }}
{%- endif %}
"""

# Like Qwen 3's: what an answer mused is left out once a question follows; musing can be switched off.
MUSING = r"""{#- How many messages stand behind the last question. -#}
{% set mill = namespace(fresh=0, replying=false) %}
{% for past in messages[::-1] %}
    {% if past.role == "user" and not past.content[:7] == "<reply>" %}{% break %}{% endif %}
    {% set mill.fresh = loop.index %}
{% endfor %}

{%- if tools -%}
<|turn|>tools
{% for tool in tools | map(attribute="function") %}
{{ tool.name }}: {{ tool | tojson }}
{% endfor %}
<|/turn|>
{% endif %}

{%- for one in messages %}
    {%- set mused, words = none, one.content if one.content is string else "" %}
    {%- if one.reasoning_content is string %}
        {%- set mused = one.reasoning_content.strip("\n") %}
    {%- elif one.role == "assistant" and "</musing>" in words %}
        {%- set cut = words.split("</musing>") %}
        {%- set mused, words = cut[0].rstrip(), cut | last %}
        {%- if mused.startswith("<musing>") %}
            {%- set mused = mused[8:].lstrip("\n") %}
        {%- endif %}
        {%- set words = words.lstrip("\n") %}
    {%- endif %}

    {%- if one.role != "tool" %}
        {{- "<|turn|>" ~ one.role ~ "\n" }}
        {%- if mused and loop.revindex <= mill.fresh %}
            {{- "<musing>" ~ mused ~ "</musing>\n" }}
        {%- endif %}
        {{- words }}
        {%- for call in one.tool_calls or [] %}
            {%- if call.function is defined %}{% set call = call.function %}{% endif %}
            {{- "\n<call>" ~ call.name ~ "\n" }}
            {%- if call.arguments is string %}
                {{- call.arguments.strip() ~ "\n" }}
            {%- else %}
                {%- for name, value in call.arguments | items %}{{ name }}: {{ value if value is string else value | tojson }}
{% endfor %}
            {%- endif %}
            {{- "</call>" }}
        {%- endfor %}
    {%- else %}
        {{- "<|turn|>user" if not mill.replying }}
        {%- set mill.replying = true %}
        {{- "\n<reply>\n" + words + "\n</reply>" }}
    {%- endif %}

    {%- set next = messages[loop.index0 + 1] if not loop.last else {} %}
    {%- if not (mill.replying and next.role == "tool") %}
        {%- set mill.replying = false %}
        {{- "<|/turn|>\n" if not words.endswith("<|/turn|>") else "\n" }}
    {%- endif %}
{%- endfor %}

{%- if add_generation_prompt -%}
    <|turn|>assistant
    {{- "\n" }}
    {%- if enable_thinking is defined and enable_thinking is false %}<musing></musing>{{ "\n" }}{% endif %}
{%- endif %}
"""

# Roles must take turns; all else is text between tags, where white space stays or goes by the signs alone.
IN_TURNS = r"""{{ bos_token -}}
{% for message in messages -%}
    {% if message.role in ["system", "tool"] -%}
        ({{ message.content|replace("\n", " ")|trim }}) {#- an aside -#}
        {% continue -%}
    {% endif %}

    {% if loop.nextitem is defined and loop.nextitem.role == message.role %}
        {{ raise_exception(message.role ~ " speaks twice at " ~ loop.index) }}
    {% endif %}
  > {{ message.role|upper }} {{ "first " if loop.first }}{{ "last " if loop.last -}}
    :  {{+ message.content }}  {# kept #}

    {%- if message.role == "assistant" +%}
  {{- eos_token }}
    {% endif %}
{% endfor %}
{%- if add_generation_prompt %}  > ASSISTANT:{% endif %}
"""

# Macros that call each other, set blocks, filters on dicts and lists, marks for training.
SCHEMA = """{% macro kind(schema, depth=0) %}
  {%- if schema.type is string -%}
    {%- if schema.type == "array" -%}
      list of {{ kind(schema['items'], depth + 1) }}
    {%- elif schema.type == "object" -%}
      {{ fields(schema.properties, depth + 1) }}
    {%- else -%}
      {{ schema.type|upper }}{{ " (one of " ~ schema.enum|join("/") ~ ")" if schema.enum }}
    {%- endif -%}
  {%- elif schema.type is iterable -%}
    {{ schema.type|join(" or ") }}
  {%- else -%}
    anything
  {%- endif -%}
  {{ " = " ~ schema.default if schema.default is defined }}
{%- endmacro %}
{% macro fields(properties, depth) -%}
  {
  {%- for name, schema in properties|dictsort %}
    {{- "\\n" ~ "  " * depth ~ name|capitalize }}: {{ kind(schema, depth) }}{{ "," if not loop.last }}
  {%- endfor -%}
  }
{%- endmacro %}
{% set head %}
  {% if tools %}
Tools: {{ tools|map(attribute="function.name")|join(", ") }} ({{ tools|length }})
    {% for tool in tools if tool.function.parameters %}
- {{ tool.function.name }}{{ fields(tool.function.parameters.properties, 1) }}
      {% if tool.function.parameters.required %} needs {{ tool.function.parameters.required|sort|join("+") }}{% endif %}

    {% else %}
none takes anything
    {% endfor %}
  {% endif %}
{% endset %}
{{ head|trim|indent(2) }}
{% for key, value in (names|default({})).items() %}{{ key }}={{ value }};{% endfor %}
{%- for key, value in names|default({})|dictsort(true) -%}{{ loop.index }}/{{ loop.length }} {{ key ~ value }} {% endfor +%}
{{ (messages|selectattr("role", "equalto", "user")|list)|length }} of {{ messages|length }}
{% for role in messages|map(attribute="role")|unique %}{{ role|title }} {% endfor %}

{%- for message in messages|rejectattr("role", "in", ["system", "critic"]) %}
  {%- if limit is defined and loop.index > limit %}{% break %}{% endif %}
  {%- if message.role == "assistant" %}
    {%- generation %}{{ "A: " ~ message.content }}{{ eos_token }}{% endgeneration %}
    {%- set again = "" %}
  {%- elif not message.content|trim %}{% continue %}
  {%- else %}
[{{ message.role[0] }}{{ message.role[-1] }}{{ message.role[::-2] }}] {{ message.content.strip().split("\\n")|first }}|{{ message.content|length }}|{{ message.content[:3] }}
    {%- if loop.previtem is defined and loop.previtem.role == message.role %} (again){% set again = "!" %}{% endif %}
    {%- if loop.nextitem is undefined %} (last){% endif %}
{{ again }}
  {%- endif %}
  {%- if message.weight is defined %}{{ message.weight }} {{ message.tags|sort }} {{ message.meta.k / 4 }} {{ message.meta.get("k") // 4 }} {{ message.meta.none or none }}{% endif %}
{% else %}
nothing
{%- endfor %}
{{ ["x", 1.0, 2, none, true]|tojson }}{{ {"ä": "</script>&'", "b": [0.1, {}]}|tojson(indent=2) }}
{% filter replace("a", "") %}{{ messages[-1].content|lower|replace("e", "3") }}{% endfilter %}
{{- "<bot>" if add_generation_prompt }}"""

TEMPLATES = {"headed": HEADED, "grouped": GROUPED, "musing": MUSING, "in turns": IN_TURNS, "schema": SCHEMA, **FAMILIES}
