// Renders the templates that a script of this folder asks for: one JSON line in, one out.
import { createInterface } from 'node:readline';
import { ChatTemplate } from '../packages/grpo/dist/text/chat-template.js';

for await (const line of createInterface({ input: process.stdin })) {
  const { template, messages, options } = JSON.parse(line);
  let answer;
  try {
    answer = { text: new ChatTemplate(template).render(messages, options) };
  } catch (error) {
    answer = { error: error.message };
  }
  console.log(JSON.stringify(answer));
}
