/** Groups, completions and tokens, each with its part of the loss. */
import type { LossAnswer, LossSettings } from 'grpo/studio';
import { useMemo } from 'preact/hooks';
import { useAnswer } from '../../client.js';
import { shortNumber, signedNumber } from '../../parts/numbers.js';
import { Answered } from '../../parts/status.js';
import { shownText } from '../../parts/token-text.js';
import { VirtualList } from '../../parts/virtual-list.js';
import { linkToPlace, type Route, setQuery } from '../../route.js';
import { type LossRow, lossRows, type Opened, openedOf, openedText } from './loss-rows.js';

interface LossTreeProps {
  run: string;
  step: number;
  update?: number;
  query: Route['query'];
  loss: LossAnswer;
  changed: LossSettings | undefined;
  /** The answer that has the hypothetical loss, when it is there. */
  tried: LossAnswer | undefined;
}

const ROW_PIXELS = 27;

export function LossTree({ query, loss, changed, tried, ...place }: LossTreeProps) {
  const opened = useMemo(() => openedOf(query.open), [query.open]);
  const index = opened.completion;
  const completion = useAnswer('completion', index === undefined ? undefined : { ...place, index });
  const tokens = useAnswer('tokenLosses', index === undefined ? undefined : { ...place, index, ...changed });
  const isBySize = query.sort !== 'order';
  const hypothetical = tried?.hypothetical?.groups;
  const rows = useMemo(() => {
    const { columns, pieces } = completion.value ?? {};
    const nameOf = (token: number) => {
      const id = columns?.ids?.[token];
      const piece = id === undefined ? undefined : pieces!.get(id);
      return piece ? shownText(piece.text) : id === undefined ? '' : `#${id}`;
    };
    return lossRows(loss.groups, hypothetical, opened, tokens.value, nameOf, isBySize);
  }, [loss, hypothetical, opened, tokens.value, completion.value, isBySize]);
  const linkOf = (token?: number) =>
    linkToPlace(
      { run: place.run, step: place.step, completion: index },
      {
        colour: 'loss',
        token,
        update: place.update,
      },
    );
  return (
    <section class={`loss-tree ${changed ? 'compared' : ''}`}>
      <div class="loss-tree-head">
        <label>
          <input
            type="checkbox"
            checked={isBySize}
            onChange={() => setQuery({ sort: isBySize ? 'order' : undefined })}
          />{' '}
          largest first
        </label>
        <span class="soft">
          Bars: to the right of the line is plus, to the left minus. A share is of the sum of sizes of all
          groups, of all completions, or of the completion’s tokens.
        </span>
      </div>
      <div class="loss-row loss-row-head soft" aria-hidden="true">
        <span>part of the loss</span>
        <span>adds</span>
        <span>share</span>
        <span />
        <span class="loss-part">policy</span>
        <span class="loss-part">KL</span>
        <span class="loss-part">entropy</span>
        {changed && <span>hypothetical</span>}
        {changed && <span>difference</span>}
      </div>
      {index !== undefined && tokens.failure && <Answered answer={tokens}>{() => null}</Answered>}
      <VirtualList count={rows.length} estimate={ROW_PIXELS} label="parts of the loss">
        {(i) => <Row row={rows[i]!} opened={opened} isCompared={changed !== undefined} linkOf={linkOf} />}
      </VirtualList>
    </section>
  );
}

interface RowProps {
  row: LossRow;
  opened: Opened;
  isCompared: boolean;
  linkOf(token?: number): string;
}

function Row({ row, opened, isCompared, linkOf }: RowProps) {
  const { kind, value, share, bar, parts, hypothetical, difference } = row;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a row of a list, whose heads are read with it
    <div
      class={`loss-row loss-${kind}`}
      role="group"
      aria-label={`${row.name} adds ${signedNumber(value)}, ${shareText(share)}`}
    >
      <span class="loss-name">
        {kind === 'token' ? (
          <a href={linkOf(row.index)}>{row.index}</a>
        ) : (
          <Toggle row={row} opened={opened} />
        )}{' '}
        {kind === 'token' && <code>{row.name}</code>}
        {kind === 'completion' && row.index === opened.completion && <a href={linkOf()}>as tokens</a>}
      </span>
      <span class="number">{signedNumber(value)}</span>
      <span class="number soft">{shareText(share)}</span>
      <Bar bar={bar} />
      <span class="number soft loss-part">{signedNumber(parts.policy, 3)}</span>
      <span class="number soft loss-part">{signedNumber(parts.kl, 3)}</span>
      <span class="number soft loss-part">{signedNumber(parts.entropy, 3)}</span>
      {isCompared && <span class="number loss-tried">{signedNumber(hypothetical)}</span>}
      {isCompared && <span class="number loss-tried">{signedNumber(difference, 3)}</span>}
    </div>
  );
}

const shareText = (share: number): string => `${shortNumber(100 * share, 2)} %`;

function Toggle({ row: { kind, index, name }, opened }: { row: LossRow; opened: Opened }) {
  const isOpen = kind === 'group' ? opened.groups.has(index) : opened.completion === index;
  const toggle = () => {
    const groups = new Set(opened.groups);
    if (kind === 'group' && !groups.delete(index)) groups.add(index);
    const completion = kind === 'group' ? opened.completion : isOpen ? undefined : index;
    setQuery({ open: openedText({ groups, completion }) });
  };
  return (
    <button type="button" class="loss-toggle" aria-expanded={isOpen} onClick={toggle}>
      <span aria-hidden="true">{isOpen ? '▾' : '▸'}</span> {name}
    </button>
  );
}

function Bar({ bar }: { bar: number }) {
  const width = Number.isFinite(bar) ? Math.min(1, Math.abs(bar)) : 0;
  return (
    <span class="loss-bar" aria-hidden="true">
      <span
        class={bar < 0 ? 'minus' : 'plus'}
        style={{ width: `${50 * width}%`, left: bar < 0 ? `${50 - 50 * width}%` : '50%' }}
      />
    </span>
  );
}
