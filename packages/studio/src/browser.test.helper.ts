/** A page in a real Chromium, over the real server or a file. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const NAMES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** The browser of this machine; without one the tests of the page are left out. */
export const CHROMIUM = process.env.CHROMIUM ?? NAMES.find((path) => existsSync(path));

const GRPO = fileURLToPath(new URL('../../grpo/bin/grpo.js', import.meta.url));

/** A browser, and what went wrong in its pages: errors, refused resources, dialogs. */
export class Chromium implements AsyncDisposable {
  readonly problems: string[] = [];

  private constructor(private readonly browser: Browser) {}

  static async launch(): Promise<Chromium> {
    // In a container root has no sandbox of its own.
    const args = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
    return new Chromium(await chromium.launch({ executablePath: CHROMIUM!, args }));
  }

  async open(url: string, options: BrowserContextOptions = {}): Promise<Page> {
    const context = await this.browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    const page = await context.newPage();
    page.on('console', (message) => {
      if (message.type() === 'error') this.problems.push(message.text());
    });
    page.on('pageerror', (error) => this.problems.push(error.message));
    page.on('dialog', (dialog) => {
      this.problems.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
    await page.goto(url);
    return page;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close();
  }
}

/** `grpo studio PATH…`, with the address that it prints. */
export class StudioServer implements Disposable {
  private constructor(
    readonly url: string,
    private readonly child: ChildProcess,
  ) {}

  static start(...argv: string[]): Promise<StudioServer> {
    const child = spawn(process.execPath, [GRPO, 'studio', '--port', '0', ...argv]);
    let said = '';
    return new Promise((resolve, reject) => {
      const hear = (text: Buffer) => {
        said += text;
        const url = /http:\/\/\S+/.exec(said)?.[0];
        if (url) resolve(new StudioServer(url, child));
      };
      child.stdout.on('data', hear);
      child.stderr.on('data', hear);
      child.on('exit', () => reject(new Error(`grpo studio has ended: ${said}`)));
    });
  }

  [Symbol.dispose](): void {
    this.child.kill('SIGKILL');
  }
}
