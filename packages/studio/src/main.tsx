import { render } from 'preact';
import { App } from './app.js';
import { useFiles } from './client.js';
import { filesInside, startOf } from './held-files.js';
import { listen } from './live.js';
import type { Files } from './messages.js';
import './style.css';

const start = startOf(document);
if (start !== undefined && globalThis.location.hash === '') globalThis.location.replace(start);
const inside = filesInside(document);
const isOnServer = globalThis.location.protocol.startsWith('http');
const isServed = !inside && isOnServer;
if (isServed) listen();

const page = document.getElementById('page')!;
page.replaceChildren();
if (inside?.kind === 'beside' && !isOnServer) {
  render(<NeedsServer />, page);
} else {
  const own: Files | undefined = isServed ? { kind: 'server' } : inside?.files.length ? inside : undefined;
  useFiles(own ?? { kind: 'held', files: [] });
  render(<App own={own} start={start ?? '#/'} />, page);
}

function NeedsServer() {
  return (
    <main>
      <h1>These runs are too large for one page</h1>
      <p>
        Their files lie beside it, and a browser reads them from a web server only. Any static one will do. In
        the folder of this page: <code>npx serve</code>, or <code>python3 -m http.server</code>; then open the
        address that it prints.
      </p>
    </main>
  );
}
