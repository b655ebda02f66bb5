import type { StartRequest, StartRequestBody } from '@convoy/api/contract/start-request';
import { optionViews } from '@convoy/coordinator/dashboard/views/options-view';

/** The options of a start as text, one per line: the given ones and the defaults. */
export function optionLines(given: StartRequestBody, whole: StartRequest): string[] {
  const views = optionViews(whole);
  const width = Math.max(...views.map(({ name }) => name.length));
  return views.map(({ name, value }) => `  ${name.padEnd(width)}  ${value}${name in given ? '' : ' (default)'}`);
}
