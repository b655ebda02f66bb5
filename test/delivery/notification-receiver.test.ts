import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { notifySchema } from '@convoy/api/configuration/notify-settings';
import { Secret } from '@convoy/api/configuration/secret';
import { testNotification } from '@convoy/coordinator/notifications/notification';
import { postNotification } from '@convoy/coordinator/notifications/post-notification';
import { Child } from '@convoy/testbed/process/child';
import { freePort } from '@convoy/testbed/process/free-port';
import { pollUntil } from '@convoy/testbed/process/poll-until';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { readText } from '../source-tree.js';

const section = readText('docs/guide/during.md').split('## Notifications\n')[1] ?? '';

/** The section's code in a language. */
function code(language: string): string {
  return section.split(`\`\`\`${language}\n`)[1]?.split('```')[0] ?? '';
}

const settings = notifySchema.parse({
  receivers: [{ name: 'example', url: 'http://127.0.0.1/', secret: 'the secret of the example' }],
  dashboardUrl: 'https://convoy.example/',
});
const notification = testNotification({ fleet: 'shop', settings }, 'one id', Date.now());

test('the receiver in docs/guide/during.md takes what is signed and recent, once, and refuses the rest', async () => {
  using folder = ScratchFolder.create('test');
  const [file, logFile, port] = [folder.file('receiver.mjs'), folder.file('receiver.log'), await freePort()];
  // The document's receiver is silent at its start.
  writeFileSync(
    file,
    `${code('js')
      .trim()
      .replace(/\)\.listen\(PORT\);$/, ").listen(PORT, () => console.log('listens'));")}\n`,
  );
  await using example = await Child.start({
    name: 'receiver',
    command: process.execPath,
    args: [file],
    env: { PORT: String(port), SECRET: 'the secret of the example' },
    ready: /^listens/,
    readyWithin_ms: 30_000,
    logFile,
  });
  const post = async (secret: string, now_ms: number): Promise<string> => {
    const url = new Secret(`http://127.0.0.1:${port}/`);
    const receiver = { name: 'example', url, secret: new Secret(secret), ca: undefined, events: [] };
    return (await postNotification(receiver, notification, now_ms, new AbortController().signal)).reason;
  };
  expect(await post('the secret of the example', Date.now())).toBe('HTTP 204');
  expect(await post('the secret of the example', Date.now())).toBe('HTTP 204');
  expect(await post('another secret', Date.now())).toBe('HTTP 401');
  expect(await post('the secret of the example', Date.now() - 3_600_000)).toBe('HTTP 401');
  expect(example.exit).toBeUndefined();
  const logged = (): string[] =>
    readFileSync(logFile, 'utf8')
      .split('\n')
      .filter((line) => line.includes(notification.summary));
  await pollUntil('the receiver has logged', 10_000, () => Promise.resolve(logged().length > 0));
  expect(logged()).toEqual([`${notification.summary} ${notification.next}`]);
});

test('the body in docs/guide/during.md has the fields of a notification, in their order', () => {
  expect(Object.keys(JSON.parse(code('json')) as object)).toEqual(Object.keys(notification));
});
