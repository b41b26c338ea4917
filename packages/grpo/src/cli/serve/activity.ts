import type { ServeEngine } from '../../serve/engine.js';
import type { HttpServer } from '../../serve/http/serve-http.js';

/** Milliseconds between two lines. */
const EVERY = 10_000;

/** Tells every ten seconds what the server does, and nothing while it does nothing. */
export function reportActivity(
  engine: Pick<ServeEngine, 'load'>,
  server: Pick<HttpServer, 'answered'>,
  log: (text: string) => void,
): Disposable {
  let before = { tokens: engine.load.tokens, answered: server.answered, at: performance.now() };
  const timer = setInterval(() => {
    const { tokens, running, waiting } = engine.load;
    const now = { tokens, answered: server.answered, at: performance.now() };
    const perSecond = (tokens - before.tokens) / ((now.at - before.at) / 1000);
    const isIdle = running + waiting === 0 && tokens === before.tokens && now.answered === before.answered;
    if (!isIdle)
      log(
        `${running} completions running, ${waiting} waiting, ${Math.round(perSecond)} tokens/s, ${now.answered} requests answered`,
      );
    before = now;
  }, EVERY);
  timer.unref();
  return { [Symbol.dispose]: () => clearInterval(timer) };
}
