/** Spellings that mean the same, brought to one: everything that can be done to a text before it is parsed. */

/** Characters and commands, each with its common spelling. */
const SPELLINGS: readonly (readonly [RegExp, string])[] = [
  [/[−–—]/g, '-'],
  [/[’′]/g, "'"],
  [/[“”"]/g, ''],
  [/×/g, '\\times '],
  [/[·⋅∙]/g, '\\cdot '],
  [/÷/g, '\\div '],
  [/√/g, '\\sqrt '],
  [/π/g, '\\pi '],
  [/θ/g, '\\theta '],
  [/∞/g, '\\infty '],
  [/±/g, '\\pm '],
  [/≤/g, '\\le '],
  [/≥/g, '\\ge '],
  [/≠/g, '\\ne '],
  [/≈/g, '\\approx '],
  [/∪/g, '\\cup '],
  [/∈/g, '\\in '],
  [/∅/g, '\\emptyset '],
  [/°|\^\s*\{?\s*\\(?:circ|degree)(?![a-zA-Z])\s*\}?|\\degree(?![a-zA-Z])/g, '^\\circ '],
  [/½/g, '\\frac{1}{2}'],
  [/¼/g, '\\frac{1}{4}'],
  [/¾/g, '\\frac{3}{4}'],
  [/²/g, '^2'],
  [/³/g, '^3'],
  [/⁻¹/g, '^{-1}'],
  [/\s*\bmillions?\b/g, '\\cdot 10^6'],
  [/\s*\bbillions?\b/g, '\\cdot 10^9'],
  [/\s*\btrillions?\b/g, '\\cdot 10^{12}'],
  // Spaces and sizes.
  [/\\(?:left|right|[bB]igg?[lr]?)(?![a-zA-Z])\.?/g, ''],
  [/\\(?:displaystyle|textstyle|limits|nolimits|quad|qquad|thinspace|phantom)(?![a-zA-Z])/g, ' '],
  [/\{,\}|,\\!/g, ','],
  [/(?<!\\)\\!/g, ''],
  [/(?<=\d)(?:\\,| )(?=\d{3}(?!\d))/g, ''],
  [/(?<!\\)\\[,;: ]|~/g, ' '],
  [/(?<!\\)\\[()[\]]/g, ' '],
  // Names.
  [/\\[dtc]frac(?![a-zA-Z])/g, '\\frac'],
  [/\\[dt]binom(?![a-zA-Z])/g, '\\binom'],
  [
    /\\(?:text|textbf|textit|textrm|textsf|mathrm|mathbf|mathit|mathsf|mathbb|mathcal|mbox|operatorname|bm|vec)\s*\{([^{}]*)\}/g,
    ' $1 ',
  ],
  [/\\(?:dollar|\$)/g, '$'],
  [/\\%/g, '%'],
  [/(?<!\\)\\[#&_]/g, ' '],
];

/**
 * A text without what only changes its looks: delimiters of mathematics, sizes, spaces, fonts, other spellings of one
 * symbol, a full stop at the end. Takes time linear in the text.
 */
export function clean(text: string): string {
  let out = stripDollars(text.trim());
  for (const [pattern, replacement] of SPELLINGS) out = out.replace(pattern, replacement);
  out = out.replace(/\s+/g, ' ').trim();
  return /[^.][.,;]$/.test(out) ? out.slice(0, -1).trim() : out;
}

/** Without `$…$` or `$$…$$` around it; a dollar sign before an amount stays. */
function stripDollars(text: string): string {
  const mark = text.startsWith('$$') ? '$$' : '$';
  const body = text.endsWith('.') ? text.slice(0, -1) : text;
  const around =
    body.length > 2 * mark.length &&
    body.startsWith(mark) &&
    body.endsWith(mark) &&
    body.at(-mark.length - 1) !== '\\';
  // In `$3$ and $4$` the signs come in pairs all through, and none of them is money.
  return around ? body.slice(mark.length, -mark.length).replace(/(?<!\\)\$/g, ' ') : text;
}
