import { readFileSync } from 'node:fs';
import { runInNewContext } from 'node:vm';
import { Template } from '@huggingface/jinja';
import { describe, expect, it, vi } from 'vitest';
import { JinjaTemplate } from './jinja-template.js';

/** Fixture of `parity/make_template_fixtures.py`: small templates with the text that Python's Jinja renders. */
interface Snippets {
  messages: unknown[];
  variables: Record<string, unknown>;
  snippets: Record<string, { template: string; text: string }[]>;
}

const file = new URL('../../../../../parity/fixtures/text/snippets.json', import.meta.url);
const { messages, variables, snippets } = JSON.parse(readFileSync(file, 'utf8')) as Snippets;
const values = { messages, ...variables, tools: null, documents: null, add_generation_prompt: false };

const render = (template: string, given: Record<string, unknown> = {}) =>
  new JinjaTemplate(template).render(given);

describe.each(Object.entries(snippets))('as Python: %s', (_subject, cases) => {
  it.each(cases)('$template', ({ template, text }) => {
    expect(render(template, values)).toBe(text);
  });
});

describe('the library alone', () => {
  it('renders most of these to another text, or not at all', () => {
    const equal = Object.values(snippets)
      .flat()
      .filter(({ template, text }) => {
        try {
          return new Template(template).render(values) === text;
        } catch {
          return false;
        }
      });
    expect(equal.length).toBeLessThan(10);
  });
});

describe('what is refused, by name and line', () => {
  it.each([
    ['{{ 1 < 2 < 3 }}', /line 1: <: a chain of comparisons/],
    ['\n{{ "a" in "ab" == true }}', /line 2: ==: a chain of comparisons/],
    ['{{ [1 2] }}', /line 1: there is nothing between 1 and 2/],
    ['{{ 1e3 }}', /line 1: there is nothing between 1 and e3/],
    ['a\n{% if x', /line 2: a tag is not closed by %\}/],
    ['a\n\n{# x', /line 3: a comment is not closed by #\}/],
    ['{% raw %}{{ x }}{% endraw %}', /line 1: raw blocks are not supported/],
    ['{% with x = 1 %}{% endwith %}', /Unknown statement type: with/],
    ['\n\n{{ x.y }}', /x is undefined, and x\.y is read \(line 3 of the template\)/],
    ['{{ [][0].x }}', /\(…\)\[0\] is undefined, and \(…\)\[0\]\.x is read/],
    ['{{ nope() }}', /nope is called, but it is undefined/],
    ['{{ "a" + 1 }}', /text \+ int is not supported/],
    ['{{ "a %s" % 1 }}', /text % int is not supported/],
    ['{{ none + "a" }}', /None \+ text is not supported/],
    ['{{ 1 / 0 }}', /division by zero/],
    ['{{ 9007199254740992 }}', /9007199254740992 is too large/],
    ['{{ "a"|center }}', /the filter center is not supported/],
    ['{{ 1 is sameas }}', /the test sameas with 0 arguments is not supported/],
    ['{{ "a".encode() }}', /encode of a text is not supported/],
    ['{{ "a".__class__ }}', /__class__ of a text is not supported/],
    ['{{ [1].append(2) }}', /append of a list is not supported/],
    ['{{ {"a": 1}.update({}) }}', /update of a dict is not supported/],
    ['{{ ("<b>"|safe) + "x" }}', /safe text \+ text is not supported/],
    ['{{ ("<b>"|safe)[0] }}', /the result of the filter safe can only be printed/],
    ['{{ "x"|escape }}', /the filter escape is not supported/],
    ['{{ {"a": 1}.items() }}', /printing a view is not supported/],
    ['{{ [1]|map("string") }}', /printing a generator is not supported/],
    ['{{ [1]|map("string")|length }}', /a generator has no length/],
    ['{{ cycler("a") }}', /cycler is not supported/],
    ['{{ nothing|tojson }}', /tojson cannot write a value that is undefined/],
    ['{{ loop.cycle }}{% for i in [1] %}{{ loop.cycle(1) }}{% endfor %}', /loop is undefined/],
    ['{% for i in [1] %}{{ loop.cycle(1) }}{% endfor %}', /loop\.cycle is not supported/],
    ['a{% if true %}{% break %}{% endif %}b', /break and continue must stand in a loop \(line 1/],
    ['{% for i in 3 %}{% endfor %}', /int cannot be iterated over/],
    ['{% for a, b in [[1]] %}{% endfor %}', /1 values are unpacked into 2 variables/],
    ['{% set x.y = 1 %}', /only a namespace has fields to set, not undefined/],
    ['{% macro m(a) %}{% endmacro %}{{ m(1, 2) }}', /m takes at most 1 arguments/],
    ['{% macro m(a) %}{% endmacro %}{{ m(b=2) }}', /m has no argument b/],
    ['{% macro m() %}{% endmacro %}{% call m() %}x{% endcall %}', /m does not use its caller/],
    ['{{ "x".split("", 1) }}', /the separator is empty/],
    ['{{ "x".split(nothing) }}', /split: sep must be text, found undefined/],
    ['{{ "x"|replace("a") }}', /replace: new must be text, found undefined/],
    ['{{ "\u00df"|capitalize }}', /the title case of "\u00df"/],
    ['{{ strftime_now("%U") }}', /the directive %U is not supported/],
    ['{{ range(1000000) }}', /range: more than 100000 numbers/],
    ['{{ raise_exception("turns must alternate") }}', /^turns must alternate \(line 1/],
  ])('%s', (template, message) => {
    expect(() => render(template)).toThrow(message);
  });
});

describe('values of the program', () => {
  it('are ints where they are whole, and leave out what is undefined', () => {
    expect(render('{{ a }} {{ b }} {{ c|tojson }}', { a: 2.0, b: 2.5, c: { x: undefined, y: null } })).toBe(
      '2 2.5 {"y": null}',
    );
    expect(() => render('', { f: () => 1 })).toThrow(/cannot be given a function/);
    expect(() => render('', { n: 2 ** 60 })).toThrow(/too large/);
  });

  it('keep the order of their fields, or are refused where JavaScript has lost it', () => {
    const written = new Map<string, unknown>([
      ['b', 1],
      ['2', [new Map([['x', 0.5]])]],
      ['1', null],
    ]);
    expect(render('{{ d|tojson }}', { d: written })).toBe('{"b": 1, "2": [{"x": 0.5}], "1": null}');
    expect(() => render('', { d: { b: 1, 2: 0 } })).toThrow(/the key 2: .* give a Map/);
    expect(() => render('', { d: [{ properties: { 0: 'x', 1: 'y' } }] })).toThrow(/the key 0/);
    expect(render('{{ d|tojson }}{{ e|tojson }}', { d: { 7: 'x' }, e: { '01': 1, a: 2, '-1': 3 } })).toBe(
      '{"7": "x"}{"01": 1, "a": 2, "-1": 3}',
    );
  });

  it('are plain: of anything else the fields would silently be gone', () => {
    expect(() => render('', { d: new Date() })).toThrow(/cannot be given a Date; give it a plain object/);
    expect(() => render('', { d: new Set([1]) })).toThrow(/cannot be given a Set/);
    expect(() => render('', { d: new Float32Array(1) })).toThrow(/cannot be given a Float32Array/);
    expect(() => render('', { d: new Map([[1, 'x']]) })).toThrow(/keys of a dict must be text, found number/);
    const bare: Record<string, unknown> = Object.create(null);
    bare.a = 1;
    expect(render('{{ d.a }}{{ e.a }}', { d: bare, e: runInNewContext('({ a: 2 })') })).toBe('12');
  });
});

describe('strftime_now', () => {
  it("writes as Python's C locale does", () => {
    vi.useFakeTimers({ now: new Date(2024, 1, 9, 15, 4, 5) });
    const format = '%d %b %Y, %A %a %B %H:%M:%S %I %p %m/%y 100%%';
    expect(render(`{{ strftime_now("${format}") }}`)).toBe(
      '09 Feb 2024, Friday Fri February 15:04:05 03 PM 02/24 100%',
    );
    vi.useRealTimers();
  });
});
