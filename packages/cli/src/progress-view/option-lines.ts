import type { StartRequest, StartRequestBody } from '@convoy/api/contract/start-request';

/** The options of a start as text, one per line: the given ones and the defaults. */
export function optionLines(given: StartRequestBody, whole: StartRequest): string[] {
  const names = Object.keys(whole) as (keyof StartRequest)[];
  const width = Math.max(...names.map((name) => name.length));
  return names.map(
    (name) => `  ${name.padEnd(width)}  ${JSON.stringify(whole[name])}${given[name] === undefined ? ' (default)' : ''}`,
  );
}
