/** A row of prime-rl's token export: prompt and completion in one list, with a number per token for each quantity. */

type Row = Readonly<Record<string, unknown>>;

export const isTokenExport = (row: Row): boolean =>
  Array.isArray(row.token_ids) && Array.isArray(row.loss_mask) && Array.isArray(row.inference_logprobs);

/** The same as the row of a table of completions: what is trained on begins with the first token of the mask. */
export function splitTokenExport(row: Row): Record<string, unknown> {
  const mask = row.loss_mask as unknown[];
  const begin = Math.max(0, mask.indexOf(true));
  const from = (name: string) => (row[name] as unknown[] | undefined)?.slice(begin);
  const first = (name: string) => from(name)?.find((value) => value !== null);
  return {
    step: row.export_step ?? row.step,
    prompt_ids: (row.token_ids as unknown[]).slice(0, begin),
    completion_ids: from('token_ids'),
    completion_mask: from('loss_mask'),
    inference_logprobs: from('inference_logprobs'),
    policy_logprobs: from('trainer_logprobs'),
    reward: first('rewards'),
    advantage: first('advantages'),
  };
}
