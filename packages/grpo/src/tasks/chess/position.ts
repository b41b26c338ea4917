/**
 * The rules of chess, by chess.js, in UCI moves and in FENs as python-chess writes them: the en-passant field only where
 * such a capture is legal, castling rights only where king and rook are at home.
 */
import { Chess, type Square } from 'chess.js';
import { type FenFields, kings, parseFen } from './fen.js';

/** How a game has ended. */
export type Ending = 'checkmate' | 'draw';

/** Moves without a capture or a pawn's move after which a game is drawn without being claimed. */
const SEVENTY_FIVE_MOVES = 150;

/** A UCI move and nothing else. */
export const UCI = /^[a-h][1-8][a-h][1-8][qrbn]?$/;

/** A position that the rules can be asked about. Playing a move changes it. */
export class Position {
  private constructor(private readonly chess: Chess) {}

  /** @returns the position, or why the text is none */
  static read(fen: string): Position | string {
    const fields = parseFen(fen);
    if (typeof fields === 'string') return fields;
    if (kings(fields).some((count) => count !== 1)) return 'each side must have one king';
    try {
      const chess = new Chess(tidied(fields));
      const [king] = chess.findPiece({ type: 'k', color: fields.turn === 'w' ? 'b' : 'w' });
      return chess.isAttacked(king!, fields.turn)
        ? 'the side that is not to move is in check'
        : new Position(chess);
    } catch (error) {
      // Pawns on the last ranks and the like.
      return error instanceof Error ? error.message : String(error);
    }
  }

  static start(): Position {
    return new Position(new Chess());
  }

  get fen(): string {
    return this.chess.fen();
  }

  /** Plays one of the legal moves, which `choose` picks of so many. @returns it, in UCI */
  playOne(choose: (count: number) => number): string {
    // By their short names, as chess.js needs a thirtieth of the time for those.
    const names = this.chess.moves();
    return this.chess.move(names[choose(names.length)]!).lan;
  }

  /** All legal moves, in UCI. */
  get moves(): string[] {
    return this.chess.moves({ verbose: true }).map(({ lan }) => lan);
  }

  isLegal(move: string): boolean {
    return this.after(move) !== undefined;
  }

  /** The FEN after a move, which is not played; undefined when it is illegal. */
  after(move: string): string | undefined {
    if (!this.play(move)) return undefined;
    const { fen } = this;
    this.chess.undo();
    return fen;
  }

  /** Plays a move, unless it is illegal. @returns whether it is legal */
  play(move: string): boolean {
    if (!UCI.test(move)) return false;
    const [from, to, promotion] = [move.slice(0, 2), move.slice(2, 4), move.slice(4)];
    if (this.chess.get(from as Square)?.color !== this.chess.turn()) return false;
    try {
      const played = this.chess.move({ from, to, ...(promotion && { promotion }) });
      // chess.js ignores a promotion where there is none.
      if (played.lan === move) return true;
      this.chess.undo();
      return false;
    } catch {
      return false;
    }
  }

  /** How the game is over here; repetitions are not looked at, since a FEN does not tell them. */
  ending(): Ending | undefined {
    if (this.chess.isCheckmate()) return 'checkmate';
    const halfmove = Number(this.fen.split(' ')[4]);
    const drawn =
      this.chess.isStalemate() || this.chess.isInsufficientMaterial() || halfmove >= SEVENTY_FIVE_MOVES;
    return drawn ? 'draw' : undefined;
  }
}

/** Without castling rights and en-passant squares that the board does not bear out, which chess.js would believe. */
function tidied(fields: FenFields): string {
  const board = fields.placement.replace(/\d/g, (count) => '.'.repeat(Number(count))).split('/');
  const at = (square: string) => board[8 - Number(square[1])]![square.charCodeAt(0) - 97];
  const castling = (['K', 'Q', 'k', 'q'] as const).filter((right) => {
    const [rank, king, rook] = right < 'a' ? ['1', 'K', 'R'] : ['8', 'k', 'r'];
    const file = right.toLowerCase() === 'k' ? 'h' : 'a';
    return fields.castling.includes(right) && at(`e${rank}`) === king && at(`${file}${rank}`) === rook;
  });
  const rights = castling.join('') || '-';
  const passing = passedOver(fields, at) ? fields.enPassant : '-';
  return `${fields.placement} ${fields.turn} ${rights} ${passing} ${fields.halfmove} ${Math.max(1, fields.fullmove)}`;
}

/** Whether a pawn can just have made a double step over the en-passant square. */
function passedOver({ enPassant, turn }: FenFields, at: (square: string) => string | undefined): boolean {
  const [file, rank] = enPassant;
  const [own, from, to, pawn] = turn === 'w' ? ['6', 7, 5, 'p'] : ['3', 2, 4, 'P'];
  return rank === own && at(enPassant) === '.' && at(`${file}${from}`) === '.' && at(`${file}${to}`) === pawn;
}
