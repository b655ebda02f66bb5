import { expect, test } from 'vitest';
import { createLogger, redacted } from '../../../src/logging/logger.js';

function logged(
  write: (logger: ReturnType<typeof createLogger>) => void,
  verbosity: 'INFO' | 'DEBUG' = 'INFO',
): string {
  const lines: string[] = [];
  write(createLogger({ verbosity, stream: { write: (line: string) => void lines.push(line) } }));
  return lines.join('');
}

test('nothing that looks like a connection string gets into the log', () => {
  const text = logged((logger) => {
    logger.info('connecting to mongodb://user:hidden@host:1/db?x=1 now');
    logger.info({ nested: { deep: ['redis://:hidden@r:1/0'] } }, 'x');
    logger.error({ err: new Error('failed: mongodb+srv://user:hidden@host') }, 'https://user:hidden@host/x');
    logger.child({ where: 'mongodb://u:hidden@h' }).warn('x');
  });
  expect(text).not.toContain('hidden');
  expect(text).not.toContain('host:1');
  expect(
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => typeof JSON.parse(line)),
  ).toHaveLength(4);
});

test('fields with logins are left out', () => {
  const text = logged((logger) =>
    logger.info({ password: 'hidden', options: { token: 'hidden', user: 'hidden' } }, 'x'),
  );
  expect(text).not.toContain('hidden');
});

test('the verbosity decides what is written', () => {
  expect(logged((logger) => logger.debug('x'))).toBe('');
  expect(logged((logger) => logger.debug('x'), 'DEBUG')).toContain('"msg":"x"');
});

test('other text stays as it is', () => {
  expect(redacted('{"a":"https://docs/x","b":"mongodb is a database"}')).toBe(
    '{"a":"https://docs/x","b":"mongodb is a database"}',
  );
});

test('a level is a word, and every line has an event', () => {
  const text = logged((logger) => {
    logger.warn({ event: 'retry' }, 'x');
    logger.info('of a library');
  });
  expect(
    text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toMatchObject([
    { level: 'warn', event: 'retry' },
    { level: 'info', event: 'library', msg: 'of a library' },
  ]);
});
