/** One completion: its tokens, each with the numbers that trained it. */
import type { CompletionAnswer } from 'grpo/studio';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { useAnswer } from '../../client.js';
import { finishWord } from '../../parts/finish-word.js';
import { useKeys } from '../../parts/keys.js';
import { shortNumber, signedNumber } from '../../parts/numbers.js';
import { GapByPosition } from '../../parts/panels/gap-by-position.js';
import { WorstTokens } from '../../parts/panels/worst-tokens.js';
import { SafeText } from '../../parts/safe-text.js';
import { Answered } from '../../parts/status.js';
import { UpdateSelect } from '../../parts/update-select.js';
import { go, linkToPlace, parseWhole, type Route, setQuery } from '../../route.js';
import './completion.css';
import { chosenMeasure, MEASURE_KEYS, measures } from './measures.js';
import { Tokens } from './tokens.js';

interface Place {
  run: string;
  step: number;
  index: number;
  query: Route['query'];
}

export function CompletionView(place: Place) {
  const { run, step, index, query } = place;
  const update = parseWhole(query.update);
  const answer = useAnswer('completion', { run, step, index, ...(update !== undefined && { update }) });
  return <Answered answer={answer}>{(value) => <Completion {...place} answer={value} />}</Answered>;
}

function Completion({ answer, ...place }: Place & { answer: CompletionAnswer }) {
  const { run, step, index, query } = place;
  const measure = chosenMeasure(answer, query.colour);
  const own = answer.group.findIndex((one) => one.index === index);
  const linkOf = (other: number) =>
    linkToPlace({ run, step, completion: other }, { colour: query.colour, update: query.update });
  const goTo = (by: number) => {
    const other = answer.group[own + by];
    if (other) go(linkOf(other.index));
  };
  useKeys({
    j: { does: 'next completion of the group', act: () => goTo(1) },
    k: { does: 'previous completion of the group', act: () => goTo(-1) },
    ...Object.fromEntries(
      MEASURE_KEYS.filter((key) => measures[key].valuesOf(answer)).map((key) => [
        measures[key].shortcut,
        { does: `colour by ${measures[key].name}`, act: () => setQuery({ colour: key }) },
      ]),
    ),
  });
  const [before, after] = [answer.group[own - 1], answer.group[own + 1]];
  return (
    <div class="completion">
      <h1>
        Completion {answer.name} <span class="soft">of step {answer.step}</span>
      </h1>
      <Facts answer={answer} />
      <nav class="completion-nav" aria-label="completions of the group">
        {before ? <a href={linkOf(before.index)}>← {before.name} (k)</a> : <span class="soft">first</span>}
        <span>
          {own + 1} of {answer.group.length} of prompt {answer.prompt}
        </span>
        {after ? <a href={linkOf(after.index)}>{after.name} (j) →</a> : <span class="soft">last</span>}
        <a href={linkToPlace({ run, step, view: 'loss' }, { open: `g${answer.prompt},c${index}` })}>
          its share of the loss
        </a>
        {answer.updates > 1 && (
          <UpdateSelect label="numbers of update" update={answer.update} updates={answer.updates} />
        )}
      </nav>
      {measure ? <Tokens answer={answer} measure={measure} query={query} /> : <TextsAlone answer={answer} />}
      {measure && (
        <>
          <Texts answer={answer} />
          <Folded title="worst tokens of this step">{() => <WorstTokens run={run} step={step} />}</Folded>
          <Folded title="gap against position in this step">
            {() => <GapByPosition run={run} step={step} />}
          </Folded>
        </>
      )}
    </div>
  );
}

function Facts({ answer }: { answer: CompletionAnswer }) {
  const { count, columns, finish, total, advantage, settings } = answer;
  const trained = columns.mask?.reduce((sum, value) => sum + Number(value !== 0), 0);
  const facts: [string, string | undefined][] = [
    ['tokens', count > 0 ? shortNumber(count) : undefined],
    ['in the loss', trained === undefined ? undefined : shortNumber(trained)],
    ['finish', finish === undefined ? undefined : finishWord(finish)],
    ['reward', total === undefined ? undefined : shortNumber(total)],
    ['advantage', advantage === undefined ? undefined : signedNumber(advantage)],
    ['clip range', clipRange(settings)],
    ['β', settings.beta === undefined ? undefined : shortNumber(settings.beta)],
  ];
  return (
    <dl class="completion-facts">
      {facts.map(
        ([name, value]) =>
          value !== undefined && (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

function clipRange({ epsilonLow, epsilonHigh }: CompletionAnswer['settings']): string | undefined {
  if (epsilonLow === undefined && epsilonHigh === undefined) return undefined;
  const low = epsilonLow === undefined ? '0' : shortNumber(1 - epsilonLow);
  return `${low} to ${epsilonHigh === undefined ? '∞' : shortNumber(1 + epsilonHigh)}`;
}

/** The texts of a step without a full record. */
function TextsAlone({ answer: { promptText, text } }: { answer: CompletionAnswer }) {
  return (
    <>
      <p class="completion-lack">
        This step has texts and rewards only: no tokens, no log-probs. A full record is written every{' '}
        <code>record.every</code> steps of a run of ours, and by the recorders for TRL and PyTorch;{' '}
        <code>record.every=1</code> writes every step.
      </p>
      <h2>Prompt</h2>
      <p class="mono">{promptText === undefined ? 'not recorded' : <SafeText text={promptText} />}</p>
      <h2>Completion</h2>
      <p class="mono">{text === undefined ? 'not recorded' : <SafeText text={text} />}</p>
    </>
  );
}

/** To read and to copy: the strip is neither. */
const Texts = ({ answer: { promptText, text } }: { answer: CompletionAnswer }) => (
  <Folded title="as plain text">
    {() => (
      <>
        <h2>Prompt</h2>
        <p class="mono">{promptText === undefined ? 'not recorded' : <SafeText text={promptText} />}</p>
        <h2>Completion, as the rewards got it</h2>
        <p class="mono">{text === undefined ? 'not recorded' : <SafeText text={text} />}</p>
      </>
    )}
  </Folded>
);

/** A fold whose content is made when it is opened. */
function Folded({ title, children }: { title: string; children: () => ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{title}</summary>
      {isOpen && children()}
    </details>
  );
}
