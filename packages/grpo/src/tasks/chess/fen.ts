/** Forsyth-Edwards notation, checked as text before the rules of chess. */

/** The six fields of a FEN. */
export interface FenFields {
  placement: string;
  turn: 'w' | 'b';
  castling: string;
  enPassant: string;
  halfmove: number;
  fullmove: number;
}

const CASTLING = /^(?:-|K?Q?k?q?)$/;
const SQUARE = /^[a-h][1-8]$/;
const COUNT = /^\d{1,6}$/;
const DEFAULTS = ['', 'w', '-', '-', '0', '1'] as const;

/**
 * Reads a FEN.
 *
 * @param least - fields that must be there; those that are missing after it get the usual values
 * @returns the fields, or the problem with the text
 */
export function parseFen(fen: string, least = 6): FenFields | string {
  const given = fen.split(' ');
  if (given.length < least || given.length > 6) return `a FEN has 6 fields, found ${given.length}`;
  const [placement, turn, castling, enPassant, halfmove, fullmove] = [
    ...given,
    ...DEFAULTS.slice(given.length),
  ] as [string, string, string, string, string, string];
  const problem = placementProblem(placement);
  if (problem !== undefined) return problem;
  if (turn !== 'w' && turn !== 'b') return `the side to move must be w or b, found ${quoteExcerpt(turn)}`;
  if (castling === '' || !CASTLING.test(castling))
    return `castling rights must be - or some of KQkq in this order, found ${quoteExcerpt(castling)}`;
  if (enPassant !== '-' && !SQUARE.test(enPassant))
    return `the en-passant field must be - or a square, found ${quoteExcerpt(enPassant)}`;
  for (const [name, text] of [
    ['half-move clock', halfmove],
    ['full-move number', fullmove],
  ] as const) {
    if (!COUNT.test(text)) return `the ${name} must be a whole number, found ${quoteExcerpt(text)}`;
  }
  return { placement, turn, castling, enPassant, halfmove: Number(halfmove), fullmove: Number(fullmove) };
}

function placementProblem(placement: string): string | undefined {
  const ranks = placement.split('/');
  if (ranks.length !== 8) return `the board must have 8 ranks, found ${ranks.length}`;
  for (const [i, rank] of ranks.entries()) {
    const name = `rank ${8 - i} (${quoteExcerpt(rank)})`;
    if (/[^pnbrqkPNBRQK1-8]/.test(rank)) return `${name} holds something that is no piece and no number`;
    if (/\d\d/.test(rank)) return `${name} has two numbers in a row`;
    const files = [...rank].reduce((sum, char) => sum + (Number(char) || 1), 0);
    if (files !== 8) return `${name} has ${files} squares`;
  }
  return undefined;
}

/** How many kings stand on the board: white's and black's. */
export const kings = ({ placement }: FenFields): [number, number] => [
  placement.split('K').length - 1,
  placement.split('k').length - 1,
];

/** A short excerpt of the text, for a message. */
export const quoteExcerpt = (text: string): string =>
  JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);
