const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
);
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

/** Python's `strftime` in the C locale, for the directives that templates use. */
export function strftime(date: Date, format: string): string {
  const two = (value: number) => String(value).padStart(2, '0');
  const directives: Record<string, () => string> = {
    Y: () => String(date.getFullYear()).padStart(4, '0'),
    y: () => two(date.getFullYear() % 100),
    m: () => two(date.getMonth() + 1),
    d: () => two(date.getDate()),
    H: () => two(date.getHours()),
    I: () => two(date.getHours() % 12 || 12),
    M: () => two(date.getMinutes()),
    S: () => two(date.getSeconds()),
    p: () => (date.getHours() < 12 ? 'AM' : 'PM'),
    B: () => MONTHS[date.getMonth()]!,
    b: () => MONTHS[date.getMonth()]!.slice(0, 3),
    A: () => DAYS[date.getDay()]!,
    a: () => DAYS[date.getDay()]!.slice(0, 3),
    '%': () => '%',
  };
  return format.replace(/%(.|$)/gsu, (whole, letter: string) => {
    const write = Object.hasOwn(directives, letter) ? directives[letter] : undefined;
    if (write) return write();
    throw new Error(`strftime_now: the directive ${whole} is not supported`);
  });
}
