/** Complex numbers in floating point, principal values throughout. */

export interface Complex {
  readonly re: number;
  readonly im: number;
}

export const complex = (re: number, im = 0): Complex => ({ re, im });
export const abs = ({ re, im }: Complex) => Math.hypot(re, im);
export const add = (a: Complex, b: Complex) => complex(a.re + b.re, a.im + b.im);
export const subtract = (a: Complex, b: Complex) => complex(a.re - b.re, a.im - b.im);
export const multiply = (a: Complex, b: Complex) =>
  complex(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);

export function divide(a: Complex, b: Complex): Complex {
  const size = b.re * b.re + b.im * b.im;
  return complex((a.re * b.re + a.im * b.im) / size, (a.im * b.re - a.re * b.im) / size);
}

export const exp = ({ re, im }: Complex) => complex(Math.exp(re) * Math.cos(im), Math.exp(re) * Math.sin(im));
export const log = (z: Complex) => complex(Math.log(abs(z)), Math.atan2(z.im, z.re));

export function power(base: Complex, exponent: Complex): Complex {
  if (base.re === 0 && base.im === 0) return complex(exponent.re > 0 ? 0 : Number.NaN);
  // Real arithmetic where the result is real: through exp and log it would get an imaginary part of rounding.
  if (base.im === 0 && exponent.im === 0 && (base.re > 0 || Number.isInteger(exponent.re)))
    return complex(base.re ** exponent.re);
  return exp(multiply(exponent, log(base)));
}

const HALF = complex(0.5);
const ONE = complex(1);
const I = complex(0, 1);

export const sin = ({ re, im }: Complex) =>
  complex(Math.sin(re) * Math.cosh(im), Math.cos(re) * Math.sinh(im));
export const cos = ({ re, im }: Complex) =>
  complex(Math.cos(re) * Math.cosh(im), -Math.sin(re) * Math.sinh(im));
export const sinh = ({ re, im }: Complex) =>
  complex(Math.sinh(re) * Math.cos(im), Math.cosh(re) * Math.sin(im));
export const cosh = ({ re, im }: Complex) =>
  complex(Math.cosh(re) * Math.cos(im), Math.sinh(re) * Math.sin(im));

/** −i log(iz + √(1 − z²)), by Math.asin where it is real. */
export function asin(z: Complex): Complex {
  if (z.im === 0 && Math.abs(z.re) <= 1) return complex(Math.asin(z.re));
  const root = power(subtract(ONE, multiply(z, z)), HALF);
  const { re, im } = log(add(multiply(I, z), root));
  return complex(im, -re);
}

export const acos = (z: Complex) => subtract(complex(Math.PI / 2), asin(z));

/** (log(1 + iz) − log(1 − iz)) / 2i, by Math.atan where it is real. */
export function atan(z: Complex): Complex {
  if (z.im === 0) return complex(Math.atan(z.re));
  const iz = multiply(I, z);
  const { re, im } = subtract(log(add(ONE, iz)), log(subtract(ONE, iz)));
  return complex(im / 2, -re / 2);
}
