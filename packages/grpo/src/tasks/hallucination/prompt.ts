/** The prompt of a row, and a good completion. */
import type { Row } from '../../formats/read-rows.js';
import { contentWords, wordsOf } from '../words.js';
import type { HallucinationQuestion } from './reward.js';
import { type Kind, kindOf } from './row.js';

const LINES = `Write two lines:
Answer: ANSWER
Evidence: "a passage of the text, word for word, that shows it"`;

const INSTRUCTIONS: Record<Kind, string> = {
  qa: `Answer the question by the text alone. If the text does not tell, say that you do not know. ${LINES.replace('ANSWER', 'the answer, in as few words as possible')}`,
  dialogue: `Give the next turn of the assistant, and claim nothing that the text does not tell. ${LINES.replace('ANSWER', 'that turn')}`,
  summary: `Summarise the text in a few sentences, and claim nothing that it does not tell. ${LINES.replace('ANSWER', 'the summary')}`,
  general: `Tell whether the response claims anything that is false or made up. Write two lines:
Answer: yes or no
Evidence: the passage that is false, word for word, or none`,
};

/** The row as text, without instructions. */
export function questionText(row: Row): string {
  switch (kindOf(row)) {
    case 'qa':
      return `Text: ${row.knowledge}\nQuestion: ${row.question}`;
    case 'dialogue':
      return `Text: ${row.knowledge}\nConversation: ${row.dialogue_history}`;
    case 'summary':
      return `Text: ${row.document}`;
    case 'general':
      return `Query: ${row.user_query}\nResponse: ${row.chatgpt_response}`;
  }
}

export const instructionsFor = (row: Row): string => INSTRUCTIONS[kindOf(row)];

/** The right answer with a passage that shows it. */
export function demonstration(question: HallucinationQuestion): string {
  if (question.kind === 'general') {
    const { hallucinated, spans, source } = question;
    const passage = spans[0] ?? source;
    return hallucinated ? `Answer: yes\nEvidence: "${firstWords(passage)}"` : 'Answer: no\nEvidence: none';
  }
  const { right, source } = question;
  return `Answer: ${right.trim()}\nEvidence: "${firstWords(nearestSentence(source, right))}"`;
}

/** The hallucinated answer and the right one together. */
export function bothAnswers(question: HallucinationQuestion): string {
  if (question.kind === 'general') return 'Answer: yes and no\nEvidence: none';
  const { right, hallucinated, source } = question;
  return `Answer: ${hallucinated.trim()} ${right.trim()}\nEvidence: "${firstWords(nearestSentence(source, right))}"`;
}

/** The sentence of a text that shares most words with an answer. */
function nearestSentence(text: string, answer: string): string {
  const asked = new Set(contentWords(wordsOf(answer)));
  const shared = (sentence: string) => new Set(wordsOf(sentence).filter((word) => asked.has(word))).size;
  const sentences = text
    .split(/(?<=[.!?])\s*(?=\p{Lu})|\n+/u)
    .filter((sentence) => wordsOf(sentence).length >= 3);
  const best = Math.max(...sentences.map(shared));
  return sentences.find((sentence) => shared(sentence) === best) ?? text;
}

/** A passage is quoted on one line and is no copy of the text. */
const firstWords = (text: string) => text.trim().split(/\s+/).slice(0, 40).join(' ');
