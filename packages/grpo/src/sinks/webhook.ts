/** Messages to a chat or a service: a finding that begins or gets worse, the end of the run, a crash. */
import { basename } from 'node:path';
import { isVariable, type WebhookSetting } from '../config/sections/sinks.js';
import { findingLine } from '../doctor/finding-line.js';
import { UserError } from '../errors/user-error.js';
import { ask, type Server } from './ask.js';
import { secretsIn } from './secrets.js';
import type { FindingRow, Item, RunOutcome, Sink } from './sink.js';
import type { SinkContext } from './sink-context.js';

type Format = NonNullable<WebhookSetting['format']>;
type Event = WebhookSetting['events'][number];

/** Something that happened to a run. */
interface Message {
  event: Event;
  run: string;
  step: number;
  text: string;
  [more: string]: unknown;
}

/** Discord refuses longer messages, and Slack folds them. */
const MOST = 1900;

const BODIES: Readonly<Record<Format, (message: Message) => object>> = {
  // The three characters that Slack's own marks begin with.
  slack: ({ text }) => ({
    text: text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;'),
  }),
  // A name in a text calls nobody.
  discord: ({ text }) => ({ content: text, allowed_mentions: { parse: [] } }),
  json: (message) => message,
};

export function openWebhook({ folder, cursor }: SinkContext, setting: WebhookSetting): Sink {
  const server = webhookServer(setting);
  const bodyOf = BODIES[setting.format ?? formatOf(new URL(server.url).hostname)];
  const run = basename(folder);
  let reward: number | undefined;
  const tell = async (message: Message) => {
    if (setting.events.includes(message.event)) await ask(server, 'POST', '', bodyOf(message));
  };
  return {
    place: server.name,
    async send(items) {
      for (const item of items) {
        if (item.kind === 'step') reward = item.values.reward ?? reward;
        if (item.kind === 'end') await tell(endMessage(run, item.outcome, reward));
        if (item.kind !== 'findings') continue;
        const news = item.findings.filter((finding) => isNews(finding, cursor.names[finding.code]));
        if (news.length === 0) continue;
        await tell(findingMessage(run, item, news));
        // One that was told is not told again, neither after a resume nor where a later message fails.
        cursor.remember(Object.fromEntries(news.map(({ code, severity }) => [code, severity])));
      }
    },
  };
}

/**
 * The server of a webhook.
 *
 * @throws UserError where the environment does not have its address
 */
export function webhookServer({ webhook }: WebhookSetting): Server {
  const url = isVariable(webhook) ? process.env[webhook]?.trim() : webhook;
  if (!url || !URL.canParse(url) || !/^https?:$/.test(new URL(url).protocol)) {
    const state = url ? 'does not hold http://… or https://…' : 'is not set';
    throw new UserError(`sinks: the environment variable ${webhook} ${state}`, {
      hint: 'It is to hold the address of the webhook. export it, or take the webhook out of sinks.',
    });
  }
  const name = new URL(url).origin;
  return { url, name, secrets: secretsIn(url), unauthorized: 'The webhook may have been withdrawn.' };
}

const formatOf = (host: string): Format =>
  host.endsWith('slack.com') ? 'slack' : /discord(app)?\.com$/.test(host) ? 'discord' : 'json';

const RANKS = ['inform', 'warn', 'fail'];

/** @param told - the severity with which it was told before */
const isNews = ({ severity }: FindingRow, told: string | undefined) =>
  severity !== 'inform' && RANKS.indexOf(severity) > RANKS.indexOf(told ?? 'inform');

function findingMessage(run: string, { step }: Item, findings: readonly FindingRow[]): Message {
  const lines = findings.map(findingLine);
  const text = shortened(`${run}, step ${step}: ${lines.join('\n')}`);
  return {
    event: 'finding',
    run,
    step,
    text,
    findings: findings.map(({ code, severity }) => ({ code, severity })),
  };
}

const ENDS: Readonly<Record<RunOutcome['how'], string>> = {
  done: 'is done after',
  interrupted: 'was interrupted after',
  stopped: 'was stopped by the doctor after',
  crashed: 'crashed after',
};

function endMessage(run: string, { how, steps, reason }: RunOutcome, reward: number | undefined): Message {
  const facts = [
    `${run} ${ENDS[how]} ${steps} steps`,
    ...(reward === undefined ? [] : [`, reward ${reward.toFixed(3)}`]),
    ...(reason === undefined ? [] : [`: ${reason}`]),
  ];
  const event = how === 'crashed' ? 'crash' : 'end';
  const numbers = reward !== undefined && Number.isFinite(reward) ? { reward } : {};
  return { event, run, step: steps, text: shortened(facts.join('')), how, ...numbers };
}

const shortened = (text: string) => (text.length > MOST ? `${text.slice(0, MOST)}…` : text);
