/** Two completions side by side: numbers, their differences, and texts with the words that differ. */
import type { StepAnswer } from 'grpo/studio';
import { finishWord } from '../../parts/finish-word.js';
import { shortNumber, wholeNumber } from '../../parts/numbers.js';
import { RewardLines } from '../../parts/reward-lines.js';
import { type Completion, rewardsOf } from '../../parts/rewards-of.js';
import { visible } from '../../parts/safe-text.js';
import { SignedMark } from '../../parts/signed-mark.js';
import { change, type Pair } from './pairs.js';
import { type Piece, wordDifference } from './word-difference.js';

export interface Side {
  answer: StepAnswer;
  linkOf(completion: Completion): string;
}

export function PairCards({ here, there, sides }: Pair & { sides: Record<'here' | 'there', Side> }) {
  const isSame = here?.text === there?.text;
  const { pieces, isCut } =
    here && there
      ? wordDifference(here.text ?? '', there.text ?? '')
      : { pieces: [{ of: 'both', text: (here ?? there)?.text ?? '' } as Piece], isCut: false };
  const [reward, advantage] = [change(here?.total, there?.total), change(here?.advantage, there?.advantage)];
  return (
    <div class="compare-pair">
      <p class="compare-changes">
        <span>
          reward <SignedMark value={reward} />
        </span>
        <span>
          advantage <SignedMark value={advantage} />
        </span>
        <span class="soft">{isSame ? '= the same text' : '≠ another text'}</span>
        {isCut && <span class="soft">only the beginnings of the texts are compared</span>}
      </p>
      <Card name="here" completion={here} side={sides.here} pieces={pieces} />
      <Card name="there" completion={there} side={sides.there} pieces={pieces} />
    </div>
  );
}

interface CardProps {
  name: 'here' | 'there';
  completion: Completion | undefined;
  side: Side;
  pieces: readonly Piece[];
}

function Card({ name, completion, side, pieces }: CardProps) {
  if (!completion) return <p class="compare-card soft">no completion at this place</p>;
  const { total, advantage, tokens, finish, text } = completion;
  return (
    <article class="compare-card">
      <header>
        <a href={side.linkOf(completion)}>{completion.name}</a>
        <span>reward {shortNumber(total, 3)}</span>
        <span>
          A <SignedMark value={advantage} />
        </span>
        <span class="soft">
          {tokens !== undefined && `${shortNumber(tokens)} tokens, `}
          {finishWord(finish)}
        </span>
      </header>
      <RewardLines lines={rewardsOf(side.answer, completion)} />
      <div class="mono safe-text compare-text" dir="auto">
        {text === undefined && <span class="soft">no text was recorded</span>}
        {text === '' && <span class="soft">an empty text</span>}
        {pieces.map(({ of, text: piece }, i) => {
          if (of !== 'both' && of !== name) return null;
          const shown = folded(piece);
          if (of === 'both') return <span key={i}>{shown}</span>;
          return of === 'here' ? <del key={i}>{shown}</del> : <ins key={i}>{shown}</ins>;
        })}
      </div>
    </article>
  );
}

/** Ends of a long piece are enough to find it. */
const MOST_OF_PIECE = 600;

function folded(text: string): string {
  if (text.length <= MOST_OF_PIECE) return visible(text);
  const half = MOST_OF_PIECE / 2;
  const left = wholeNumber(text.length - MOST_OF_PIECE);
  return `${visible(text.slice(0, half))} … ${left} characters … ${visible(text.slice(-half))}`;
}
