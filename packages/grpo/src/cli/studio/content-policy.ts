/**
 * The content security policy of the page, served or in one document: nothing runs, loads or sends but what it names.
 *
 * @param sources - of scripts and of styles, and where the page may read from
 */
export const contentPolicy = ({ script, style, connect }: Record<'script' | 'style' | 'connect', string>) =>
  [
    "default-src 'none'",
    `script-src ${script}`,
    `style-src ${style}`,
    `connect-src ${connect}`,
    'worker-src blob:',
    "img-src data: 'self'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
