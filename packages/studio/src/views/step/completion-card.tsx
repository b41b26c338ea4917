/** One completion of a group: its rewards and their reasons, its length, its end and its text. */
import { finishWord } from '../../parts/finish-word.js';
import { shortNumber, wholeNumber } from '../../parts/numbers.js';
import { RewardLines } from '../../parts/reward-lines.js';
import type { Completion, RewardLine } from '../../parts/rewards-of.js';
import { SafeText, visible } from '../../parts/safe-text.js';
import { SignedMark } from '../../parts/signed-mark.js';
import { searchPattern } from './selection.js';

interface CompletionCardProps {
  completion: Completion;
  rewards: readonly RewardLine[];
  link: string;
  /** Characters at the beginning that are left out: the group shares them. */
  hidden: number;
  search: string;
  isCurrent: boolean;
  isTall: boolean;
}

export function CompletionCard(props: CompletionCardProps) {
  const { completion, rewards, link, hidden, search, isCurrent, isTall } = props;
  const { name, total, advantage, tokens, trained, finish, text = '', sampledText } = completion;
  return (
    <article
      class={`step-card ${isTall ? 'step-card-tall' : ''}`}
      aria-current={isCurrent ? 'true' : undefined}
    >
      <header>
        <a href={link}>{name}</a>
        <span>
          reward <strong>{shortNumber(total, 3)}</strong>
        </span>
        <span title="advantage">
          A <SignedMark value={advantage} />
        </span>
      </header>
      <div class="step-card-rewards">
        <RewardLines lines={rewards} />
      </div>
      <p class="soft">
        {tokens !== undefined && `${shortNumber(tokens)} tokens`}
        {trained !== undefined && trained !== tokens && `, ${shortNumber(trained)} trained`}
        {finish !== undefined && (
          <span class={finish === 'length' ? 'warn' : ''}>
            {finish === 'length' ? ' ✂ ' : ' ■ '}
            {finishWord(finish)}
          </span>
        )}
        {sampledText !== undefined && ' · the text was changed before it was rewarded'}
      </p>
      <div class="step-card-text mono">
        {hidden > 0 && <span class="soft">⋯ </span>}
        {text === '' ? (
          <span class="soft">{completion.text === undefined ? 'no text was recorded' : 'an empty text'}</span>
        ) : text.length <= hidden ? (
          <span class="soft">nothing after what the group shares</span>
        ) : (
          <CardText text={text} from={hidden} search={search} most={isTall ? 4000 : 600} />
        )}
      </div>
    </article>
  );
}

/** The text from a place on; a search shows it from shortly before the match, which is marked. */
function CardText({
  text,
  from,
  search,
  most,
}: {
  text: string;
  from: number;
  search: string;
  most: number;
}) {
  const found = search === '' ? undefined : (searchPattern(search).exec(text) ?? undefined);
  if (!found) return <SafeText text={text.slice(from)} most={most} />;
  const [start, end] = [found.index, found.index + found[0].length];
  const before = start - 80 > from ? start - 60 : Math.min(from, start);
  return (
    <>
      {before > from && <span class="soft">{wholeNumber(before - from)} characters, then </span>}
      <span class="safe-text" dir="auto">
        {visible(text.slice(before, start))}
        <mark>{visible(found[0])}</mark>
      </span>
      <SafeText text={text.slice(end)} most={most} />
    </>
  );
}
