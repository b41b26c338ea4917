/**
 * The reward of a P completion. With an engine it is from −1 to 1: how its best move, its candidates and their values
 * compare with the engine's. Without one it is from 0 to 0.7: whether they are there and legal. The two are different
 * scales, so a run has one or the other.
 */
import type { Verdict } from '../../rewards/reward.js';
import { scoreBest, scoreCandidates, scoreEvaluations } from './compare.js';
import type { Analyst } from './engine/analysis.js';
import { GrammarError, parsePrompt } from './grammar.js';
import { Position } from './position.js';

const MALFORMED_PROMPT = -0.5;
const WEIGHTS = { best: 0.5, candidates: 0.3, evaluations: 0.2 } as const;

/** Parts that are found in a completion, however it is written. */
export interface PolicyAnswer {
  /** At most five. */
  moves: string[];
  evaluations: number[];
  best: string | undefined;
}

/** Finds the parts of a P completion, without asking that it be well formed. */
export function findPolicy(completion: string): PolicyAnswer {
  const section = /M:([^EB]*)/.exec(completion)?.[1] ?? '';
  const values = /E:\s*([-+]?\d*\.?\d+(?:\s+[-+]?\d*\.?\d+)*)/.exec(completion)?.[1];
  return {
    moves: (section.match(/[a-h][1-8][a-h][1-8][qrbn]?/g) ?? []).slice(0, 5),
    evaluations: values?.split(/\s+/).map(Number) ?? [],
    best: /B:\s*([a-h][1-8][a-h][1-8][qrbn]?)/.exec(completion)?.[1],
  };
}

/**
 * Scores a completion of a P prompt.
 *
 * @param analyst - without one, format and legality are scored
 * @throws the analyst's errors: a position that could not be analysed has no reward
 */
export async function scorePolicy(prompt: string, completion: string, analyst?: Analyst): Promise<Verdict> {
  const position = policyPosition(prompt);
  if (!position) return { value: MALFORMED_PROMPT, rule: 'the prompt is malformed' };
  const answer = findPolicy(completion);
  if (!analyst) return scoreForm(answer, position);
  const top = await analyst.best(position.fen);
  const best = scoreBest(answer.best, top, position);
  const parts = {
    best: best.value,
    candidates: scoreCandidates(answer.moves, top, position),
    evaluations: await scoreEvaluations(answer, position, analyst),
  };
  const total =
    WEIGHTS.best * parts.best +
    WEIGHTS.candidates * parts.candidates +
    WEIGHTS.evaluations * parts.evaluations;
  return { value: Math.max(-1, Math.min(1, total)), parts, rule: best.rule };
}

/** The position of a P prompt; undefined when the prompt is none. */
export function policyPosition(prompt: string): Position | undefined {
  try {
    const asked = parsePrompt(prompt);
    const position = asked.kind === 'P' ? Position.read(asked.fen) : undefined;
    return position instanceof Position ? position : undefined;
  } catch (error) {
    if (error instanceof GrammarError) return undefined;
    throw error;
  }
}

function scoreForm({ moves, evaluations, best }: PolicyAnswer, position: Position): Verdict {
  const illegal = moves.filter((move) => !position.isLegal(move)).length;
  const bestIsIllegal = best !== undefined && !position.isLegal(best);
  const parts = {
    best: (best === undefined ? 0 : 0.3) - (bestIsIllegal ? 0.5 : 0),
    candidates: (0.2 * moves.length) / 5 - 0.1 * illegal,
    evaluations: evaluations.length > 0 ? 0.2 : 0,
  };
  const total = parts.best + parts.candidates + parts.evaluations;
  const move = bestIsIllegal ? 'an illegal best move' : best ? 'a legal best move' : 'no best move';
  return { value: Math.max(0, Math.min(1, total)), parts, rule: `${move}, no engine` };
}
