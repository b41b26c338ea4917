/** Units of measure after an answer, and money signs before it. */

/** Each line is one unit: its spellings, plurals in -s and -es left out. */
const UNITS = `
mm millimeter millimetre
cm centimeter centimetre
dm decimeter decimetre
m meter metre
km kilometer kilometre
inch in inche
foot feet ft
yard yd
mile mi
acre
hectare ha
mg milligram
g gram gm
kg kilogram
ton tonne
pound lb lbs
ounce oz
ml milliliter millilitre
l liter litre
gallon gal
quart pint cup
second sec s
minute min
hour hr h
day
week
month
year yr
mph
kmph kph
dollar buck usd
cent
euro
pence penny
rupee rs
degree deg
radian rad
celsius fahrenheit kelvin
volt ampere amp watt ohm joule newton pascal hertz hz
unit
percent
people person man men woman women child children boy girl student friend player member soldier worker teacher
apple orange banana egg cookie candy candie cake pizza slice tile coin ticket book page marble ball card toy pencil pen
box bag bottle basket
car bike bicycle truck bus train ship
dog cat cow horse sheep duck chicken monkey animal fish bird
flower tree plant seat chair table room house
point mark time way number digit term root solution value integer side edge vertice vertex face angle triangle square
step turn round lap game match goal shot score
chicken leg wheel piece item stamp sticker photo word letter block cube
`;

/** The name of each spelling's unit: the first of its line for measures, the word itself for things. */
const NAMES = new Map<string, string>();
for (const line of UNITS.trim().split('\n')) {
  const spellings = line.split(' ');
  const isMeasure = spellings.length < 5;
  for (const spelling of spellings) NAMES.set(spelling, isMeasure ? spellings[0]! : spelling);
}

/** Every spelling of more than one letter. */
export const UNIT_WORDS: readonly string[] = [...NAMES.keys()].filter((word) => word.length > 1);

/** Letters that are variables unless a space stands before them. */
const isLetter = (word: string) => word.length === 1;

/** Words that join units: `square feet`, `km per hour`. */
const JOINING = /^(?:square|cubic|sq|cu|per|of|a|an)$/;

function unitName(word: string): string | undefined {
  const lower = word.toLowerCase();
  return NAMES.get(lower) ?? NAMES.get(lower.replace(/s$/, '')) ?? NAMES.get(lower.replace(/es$/, ''));
}

/** Units that are asked after in many ways, and say nothing of the value. */
export interface Quantity {
  /** The text without its unit. */
  value: string;
  /** The unit in one spelling: `km/hour`, `cm^2`, `dollar`; empty without one. */
  unit: string;
  mark: 'none' | 'percent' | 'degree';
}

/** Six words are more than any unit takes. */
const MAX_WORDS = 6;

/** Takes a cleaned text apart into value and unit. What is no unit stays with the value. */
export function quantityOf(text: string): Quantity {
  let value = text;
  if (/^\D?\$\s*[\d.]/.test(value) || /^[-+]?[$€£¥]\s*[-+]?[\d.]/.test(value)) {
    const sign = /[$€£¥]/.exec(value)![0];
    const plain = value.replace(sign, '').trim();
    return { value: quantityOf(plain).value, unit: sign === '$' ? 'dollar' : sign, mark: 'none' };
  }
  const units: string[] = [];
  for (let k = 0; k < MAX_WORDS; k++) {
    const tail = /[/ \d)}\]]([a-zA-Z]+)\.? ?(?:\^\{?([1-9])\}?)?$/.exec(value.slice(-40));
    const word = tail?.[1] ?? '';
    const before = tail?.[0][0] ?? '';
    const known = JOINING.test(word) ? word : unitName(word);
    if (!tail || known === undefined || (isLetter(word) && !/[ /]/.test(before))) break;
    const kept = value.length - tail[0].length + (before === ' ' || before === '/' ? 0 : 1);
    units.unshift(`${before === '/' ? '/' : ''}${known}${tail[2] ? `^${tail[2]}` : ''}`);
    value = value.slice(0, kept).trim();
  }
  const mark = /\\circ\s*[CF]?$/.test(value) ? 'degree' : value.endsWith('%') ? 'percent' : 'none';
  if (mark === 'degree') value = value.replace(/\^\\circ\s*[CF]?$/, '').trim();
  if (mark === 'percent') value = value.slice(0, -1).trim();
  return marked(value, units, mark);
}

/** Words that are marks: 5 percent, 90 degrees. */
function marked(value: string, units: readonly string[], mark: Quantity['mark']): Quantity {
  if (units[0] === 'percent') return { value, unit: '', mark: 'percent' };
  if (units[0] === 'degree') return { value, unit: '', mark: 'degree' };
  return { value, unit: unitText(units), mark };
}

/** `square cm` and `cm^2` are one unit, as are `km per hour` and `km/hour`. */
function unitText(units: readonly string[]): string {
  return units
    .join(' ')
    .replace(/(?:square|sq) (\S+)/, '$1^2')
    .replace(/(?:cubic|cu) (\S+)/, '$1^3')
    .replace(/ ?(?:per|\/) ?/, '/')
    .replace(/^(?:of|a|an) | (?:of|a|an)(?= |$)/g, '');
}
