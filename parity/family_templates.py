"""Chat templates of our own with the constructs that the templates of newer families have; words and order are ours."""

# Like Gemma's: two speakers who take turns, the assistant is called the model, rules go in front of the first question or are
# refused, contents are texts or lists of parts.
TWO_SPEAKERS = r"""{{ bos_token }}
{%- if messages[0]['role'] == 'system' -%}
    {%- if forbid_rules is defined and forbid_rules -%}{{ raise_exception('Rules have no place of their own') }}{%- endif -%}
    {%- set rules = (messages[0]['content'] if messages[0]['content'] is string else messages[0]['content'][0]['text']) ~ '

' -%}
    {%- set spoken = messages[1:] -%}
{%- else -%}
    {%- set rules, spoken = "", messages -%}
{%- endif -%}
{%- for one in spoken -%}
    {%- if (one['role'] == 'user') != (loop.index0 % 2 == 0) -%}
        {{ raise_exception("Speakers take turns: " ~ one['role'] ~ " is out of turn") }}
    {%- endif -%}
    {%- set name = "model" if (one['role'] == 'assistant') else one['role'] -%}
    {{ '<turn>' + name + '
' + (rules if loop.first else "") }}
    {%- if one['content'] is string -%}
        {{ one['content'] | trim }}
    {%- elif one['content'] is iterable -%}
        {%- for part in one['content'] -%}
            {{ '<picture>' if part['type'] == 'image' else part['text'] | trim }}
        {%- endfor -%}
    {%- else -%}
        {{ raise_exception("What is said must be text") }}
    {%- endif -%}
    {{ '</turn>
' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{'<turn>model
'}}
{%- endif -%}
"""

# Like Mistral's: instructions in brackets, no header for the assistant, the order checked beforehand, tools in front of the
# last question, calls cut out of JSON, ids of nine signs.
BRACKETS = r"""{%- if messages[0]["role"] == "system" %}
    {%- set rules = messages[0]["content"] %}
    {%- set rest = messages[1:] %}
{%- else %}
    {%- set rest = messages %}
{%- endif %}
{%- if not tools is defined %}{%- set tools = none %}{%- endif %}
{%- set asked = rest | selectattr("role", "equalto", "user") | list %}

{%- set order = namespace() %}
{%- set order.at = 0 %}
{%- for one in rest %}
    {%- if not (one.role == "tool" or one.role == "tool_results" or (one.tool_calls is defined and one.tool_calls is not none)) %}
        {%- if (one["role"] == "user") != (order.at % 2 == 0) %}
            {{- raise_exception("After the rules user and assistant must alternate, and not at " ~ order.at) }}
        {%- endif %}
        {%- set order.at = order.at + 1 %}
    {%- endif %}
{%- endfor %}

{{- bos_token }}
{%- for one in rest %}
    {%- if one["role"] == "user" %}
        {%- if tools is not none and (one == asked[-1]) %}
            {{- "[TOOLS] [" }}
            {%- for tool in tools %}
                {%- set tool = tool.function %}
                {{- '{"function": {' }}
                {%- for key, val in tool.items() if key != "return" %}
                    {%- if val is string %}
                        {{- '"' + key + '": "' + val + '"' }}
                    {%- else %}
                        {{- '"' + key + '": ' + val|tojson }}
                    {%- endif %}
                    {%- if not loop.last %}{{- ", " }}{%- endif %}
                {%- endfor %}
                {{- "}}" }}
                {%- if not loop.last %}{{- ", " }}{%- else %}{{- "]" }}{%- endif %}
            {%- endfor %}
            {{- "[/TOOLS]" }}
        {%- endif %}
        {%- if loop.last and rules is defined %}
            {{- "[INST] " + rules + "\n\n" + one["content"] + "[/INST]" }}
        {%- else %}
            {{- "[INST] " + one["content"] + "[/INST]" }}
        {%- endif %}
    {%- elif one.tool_calls is defined and one.tool_calls is not none %}
        {{- "[CALLS] [" }}
        {%- for call in one.tool_calls %}
            {%- set out = call.function|tojson %}
            {{- out[:-1] }}
            {%- if call.id is defined and call.id|length == 9 %}{{- ', "id": "' + call.id + '"}' }}{%- else %}{{- ', "id": null}' }}{%- endif %}
            {%- if not loop.last %}{{- ", " }}{%- else %}{{- "]" + eos_token }}{%- endif %}
        {%- endfor %}
    {%- elif one["role"] == "assistant" %}
        {{- " " + one["content"]|trim + eos_token }}
    {%- elif one["role"] == "tool_results" or one["role"] == "tool" %}
        {%- set content = one.content.content if one.content is mapping and one.content.content is defined else one.content %}
        {{- '[RESULTS] {"content": ' + content|string + "}[/RESULTS]" }}
    {%- else %}
        {{- raise_exception("Who is " ~ one["role"] ~ "?") }}
    {%- endif %}
{%- endfor %}
"""

# Like SmolLM3's: flags in the rules switch thinking on and off, the head tells the day, thoughts of earlier answers go, what
# the assistant says is marked for training.
FLAGS = r"""{# how much is thought, unless the rules say otherwise #}
{%- if enable_thinking is not defined -%}
    {%- set enable_thinking = true -%}
{%- endif -%}
{%- set mode = "/think" if enable_thinking else "/no_think" -%}
{%- set head = namespace(own="", mode=mode) -%}
{%- if messages[0].role == "system" -%}
    {%- set given = messages[0].content -%}
    {%- if "/no_think" in given -%}
        {%- set head.mode = "/no_think" -%}
    {%- elif "/think" in given -%}
        {%- set head.mode = "/think" -%}
    {%- endif -%}
    {%- set head.own = given.replace("/no_think", "").replace("/think", "").rstrip() -%}
{%- endif -%}
{%- if not ("/bare" in head.own) -%}
<|turn|>system
## About
{% set today = strftime_now("%d %B %Y") %}
{{- "Words in the date: " ~ (today.split(" ") | length) ~ ("" if today is string else "!") -}}
{{- "\nMode: " + head.mode + "\n\n" -}}
{%- if head.own -%}
    {{- "## Rules\n" ~ head.own ~ "\n\n" -}}
{%- elif head.mode == "/think" -%}
    {{- "## Rules\nThink between <think> and </think>, then answer.\n\n" -}}
{%- endif -%}
{%- if xml_tools or python_tools or tools -%}
    {{- "### Tools\n" -}}
    {%- set lines = namespace(text="You may call:\n<tools>\n") -%}
    {%- for tool in (xml_tools or tools) -%}
        {%- set lines.text = lines.text ~ (tool | string) ~ "\n" -%}
    {%- endfor -%}
    {%- set shown = lines.text + "</tools>\n" -%}
    {{- shown ~ "\n" -}}
{%- endif -%}
{{- "<|/turn|>\n" -}}
{%- endif -%}
{%- set own = namespace(last=messages | length) -%}
{%- for one in messages -%}
    {%- set content = one.content if one.content is string else "" -%}
    {%- if one.role == "user" -%}
        {{ "<|turn|>" + one.role + "\n" + content + "<|/turn|>\n" }}
    {%- elif one.role == "assistant" -%}
        {%- generation -%}
        {%- if head.mode == "/think" -%}
            {{ "<|turn|>assistant\n" + content.lstrip("\n") + "<|/turn|>\n" }}
        {%- else -%}
            {{ "<|turn|>assistant\n" + "<think>\n\n</think>\n" + content.split("</think>")[-1].lstrip("\n") + "<|/turn|>\n" }}
        {%- endif -%}
        {%- endgeneration -%}
    {%- elif one.role == "tool" -%}
        {{ "<|turn|>" + "user\n" + content + "<|/turn|>\n" }}
    {%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}
    {{ "<|turn|>assistant\n" if head.mode == "/think" else "<|turn|>assistant\n" + "<think>\n\n</think>\n" }}
{%- endif -%}
"""

# Like Phi's: a speaker's name is the mark itself, and tools stand in the rules' turn.
NAMED_MARKS = r"""{% for one in messages %}{% if one['role'] == 'system' and 'tools' in one and one['tools'] is not none %}{{ '<|' + one['role'] + '|>' + one['content'] + '<|tool|>' + one['tools'] + '<|/tool|>' + '<|end|>' }}{% elif one['role'] == 'system' and tools %}{{ '<|' ~ one['role'] ~ '|>' ~ one['content'] ~ '<|tool|>' ~ tools | tojson ~ '<|/tool|><|end|>' }}{% else %}{{ '<|' + one['role'] + '|>' + one['content'] + '<|end|>' }}{% endif %}{% endfor %}{% if add_generation_prompt %}{{ '<|assistant|>' }}{% else %}{{ eos_token }}{% endif %}"""

# Like OLMo's: the last answer ends in the end token without a line break, and the header of the next comes from within the loop.
LAST_ENDS = r"""{%- set hasRules = messages|selectattr('role', 'equalto', 'system')|list|length > 0 -%}
{%- if not hasRules -%}{{ '<|system|>
You count grain' ~ ('. You have no tools' if not tools) ~ '.
' }}{%- endif -%}
{{ bos_token }}{% for one in messages %}
{%- if one['role'] == 'system' -%}
{{ '<|system|>
' + one['content'] }}{% if one.get('functions', none) is not none %}{{ ' <functions>' + one['functions'] + '</functions>' }}{% endif %}{{ '
' }}
{%- elif one['role'] == 'user' -%}
{{ '<|user|>
' + one['content'] + '
' }}
{%- elif one['role'] == 'assistant' -%}
{%- if not loop.last -%}
{{ '<|assistant|>
' + one['content'] + eos_token + '
' }}
{%- else -%}
{{ '<|assistant|>
' + one['content'] + eos_token }}
{%- endif -%}
{%- elif one['role'] in ('tool', 'environment') -%}
{{ '<|environment|>
' + one['content'] + '
' }}
{%- endif -%}
{%- if loop.last and add_generation_prompt -%}
{{ '<|assistant|>
' }}
{%- endif -%}
{%- endfor -%}
"""

# Like Granite's: roles between marks, a head that is put together from many conditions, documents and controls beside the
# conversation.
ROLES = r"""{%- if messages[0]['role'] == 'system' %}
    {%- set head = messages[0]['content'] %}
    {%- set rest = messages[1:] %}
{%- else %}
    {%- set head = "A date of " ~ strftime_now('%B %d, %Y') | length // 99 ~ ".\nYou weigh grain" %}
    {%- if tools and documents %}
        {%- set head = head + " with tools and texts." %}
    {%- elif tools %}
        {%- set head = head + " with tools. Call one as <|call|> and JSON." %}
    {%- elif documents %}
        {%- set head = head + " by texts alone." %}
    {%- elif thinking is defined and thinking %}
        {%- set head = head + " and think aloud." %}
    {%- else %}
        {%- set head = head + "." %}
    {%- endif %}
    {%- if controls and 'citations' in controls and documents %}
        {%- set head = head + '\n\nName the lines.' %}
    {%- endif %}
    {%- set rest = messages %}
{%- endif %}
{{- '<|role|>system<|/role|>' + head + '<|end|>\n' }}
{%- if tools %}
    {{- '<|role|>tools<|/role|>' }}
    {{- tools | tojson(indent=4) }}
    {{- '<|end|>\n' }}
{%- endif %}
{%- if documents %}
    {%- for document in documents %}
        {{- '<|role|>document ' + loop.index | string + '<|/role|>' + document['text'] + '<|end|>\n' }}
    {%- endfor %}
{%- endif %}
{%- for one in rest %}
    {%- if one['content'] is string %}{%- set content = one['content'] %}{%- else %}{%- set content = '' %}{%- endif %}
    {{- '<|role|>' + one['role'] + '<|/role|>' + content }}
    {%- if one.tool_calls %}
        {%- for call in one.tool_calls %}
            {{- ('\n' if (loop.first and content) or not loop.first) ~ '<|call|>' ~ (call.function.arguments | tojson if call.function.arguments is not string else call.function.arguments) }}
        {%- endfor %}
    {%- endif %}
    {{- '<|end|>\n' }}
    {%- if loop.last and add_generation_prompt %}
        {{- '<|role|>assistant' }}
        {%- if controls %}
            {{- ' ' + controls | tojson() }}
        {%- endif %}
        {{- '<|/role|>' }}
    {%- endif %}
{%- endfor %}"""

FAMILIES = {
    "two speakers": TWO_SPEAKERS,
    "brackets": BRACKETS,
    "flags": FLAGS,
    "named marks": NAMED_MARKS,
    "last ends": LAST_ENDS,
    "roles": ROLES,
}
