import { describe, expect, it } from 'vitest';
import type { Model } from '../models/model.js';
import { ChatTemplate } from '../text/chat-template.js';
import { renderedRecord } from './rendered-record.js';

const promptsBy = (source: string) => {
  const tokenizer = { namedTokens: {}, vocabSize: 9, specialTokens: {} };
  const model = { template: new ChatTemplate(source), tokenizer, endIds: [] } as unknown as Model;
  const prompt = [{ role: 'user' as const, content: '2 + 2?' }];
  return renderedRecord(model, [{ prompt }], []).prompts;
};

describe('the record of a rendered prompt', () => {
  it('tells the text before an answer, and between it and the next question', () => {
    const source = "{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}</>{% endfor %}";
    expect(promptsBy(source)).toMatchObject({ assistantHeader: '<assistant>', afterAnswer: '</><user>' });
  });

  it('tells the end of an answer where the template refuses a second question', () => {
    const source =
      "{% if messages|length > 2 %}{{ raise_exception('one turn') }}{% endif %}{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}</>{% endfor %}";
    expect(promptsBy(source)).toMatchObject({ assistantHeader: '<assistant>', afterAnswer: '</>' });
  });
});
