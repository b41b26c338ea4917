/** The tokens of a step whose numbers are the most extreme, each with a link to where it stands. */
import type { Measure } from 'grpo/studio';
import { useAnswer } from '../../client.js';
import { linkToPlace, setQuery, useRoute } from '../../route.js';
import { SignedMark } from '../signed-mark.js';
import { Answered } from '../status.js';
import { shownText } from '../token-text.js';
import './worst-tokens.css';

/** Per measure: its name, its extreme in words, and the colour of the completion that shows it. */
const NAMES: Readonly<Record<Measure, { name: string; says: string; colour: string }>> = {
  gap: { name: 'gap', says: 'largest |log π of trainer − sampler|, nats', colour: 'gap' },
  ratio: { name: 'ratio', says: 'ratio furthest from 1', colour: 'ratio' },
  logprob: { name: 'log-prob', says: 'least likely, nats', colour: 'logprob' },
  entropy: { name: 'entropy', says: 'most uncertain, nats', colour: 'entropy' },
  kl: { name: 'KL term', says: 'largest KL term, nats', colour: 'kl' },
  loss: { name: 'loss share', says: 'largest part of the loss', colour: 'loss' },
  slope: { name: 'slope', says: 'largest |d loss / d log π|', colour: 'loss' },
};
const MEASURES = Object.keys(NAMES) as Measure[];
const COUNT = 20;

export function WorstTokens({ run, step }: { run: string; step: number }) {
  const { worst } = useRoute().query;
  const measure = MEASURES.find((one) => one === worst) ?? 'gap';
  const answer = useAnswer('worstTokens', { run, step, measure, count: COUNT });
  return (
    <section class="worst-tokens" aria-labelledby="worst-tokens-title">
      <h2 id="worst-tokens-title">Worst tokens of this step</h2>
      <fieldset aria-label="measure">
        {MEASURES.map((one) => (
          <button
            type="button"
            key={one}
            aria-pressed={one === measure}
            onClick={() => setQuery({ worst: one === 'gap' ? undefined : one })}
          >
            {NAMES[one].name}
          </button>
        ))}
      </fieldset>
      <Answered answer={answer}>
        {(tokens) =>
          tokens.length === 0 ? (
            <p class="soft">The record does not have this number of its tokens.</p>
          ) : (
            <table>
              <thead>
                <tr>
                  <th class="number" scope="col">
                    {NAMES[measure].says}
                  </th>
                  <th scope="col">token</th>
                  <th scope="col">completion</th>
                  <th class="number" scope="col">
                    position
                  </th>
                </tr>
              </thead>
              <tbody>
                {tokens.map(({ completion, name, token, update, id, text, value }) => (
                  <tr key={`${completion} ${token} ${update}`}>
                    <td class="number">
                      <SignedMark value={value} digits={4} />
                    </td>
                    <td>
                      <a
                        href={linkToPlace(
                          { run, step, completion },
                          {
                            token,
                            colour: NAMES[measure].colour,
                            update,
                          },
                        )}
                      >
                        <code>{text === undefined ? `#${id ?? '?'}` : shownText(text)}</code>
                      </a>
                    </td>
                    <td>{name}</td>
                    <td class="number">{token}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )
        }
      </Answered>
    </section>
  );
}
