import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import type { Command } from 'commander';
import { optionLines } from '../progress-view/option-lines.js';
import { clientOf, serviceCommand, type ServiceOptions } from './service.js';
import { addStartOptions, startBody, type StartOptions } from './start-options.js';
import { addWait, watchUntil, type WaitOptions } from './wait.js';

const what = 'a commit is possible';

/** Adds `convoy start`: prints the options of a migration and starts it. */
export function addStartCommand(program: Command): void {
  const command = addStartOptions(serviceCommand(program, 'start', 'start a migration'));
  addWait(command, what).action(async (options: ServiceOptions & StartOptions & WaitOptions) => {
    const body = startBody(options);
    console.log([`Starting at ${options.url} with:`, ...optionLines(body, parseStartRequest(body))].join('\n'));
    const client = clientOf(options);
    await client.start(body);
    if (options.wait === undefined) console.log('Started. Follow it with: convoy watch');
    else await watchUntil(client, what, ({ canCommit, state }) => canCommit || state === 'COMMITTED', options.wait);
  });
}
