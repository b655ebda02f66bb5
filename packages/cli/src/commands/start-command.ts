import { parseStartRequest } from '@convoy/api/contract/parse-start-request';
import type { Command } from 'commander';
import { optionLines } from '../progress-view/option-lines.js';
import { clientOf, serviceCommand, type ServiceOptions } from './service.js';
import { addStartOptions, startBody, type StartOptions } from './start-options.js';
import { waitingLines } from '../progress-view/waiting-lines.js';
import { addJson, type JsonOption } from './json-output.js';
import { type Acceptance, addWait, endAccepted, type WaitOptions } from './wait.js';

const acceptance: Acceptance = {
  then: 'Started. Follow it with: convoy watch',
  what: 'a commit is possible',
  until: ({ canCommit, state }) => canCommit || state === 'COMMITTED',
};

/** Adds `convoy start`: starts a migration, and prints its options. */
export function addStartCommand(program: Command): void {
  const command = addStartOptions(serviceCommand(program, 'start', 'start a migration'));
  addJson(addWait(command, acceptance.what)).action(
    async (options: ServiceOptions & StartOptions & WaitOptions & JsonOption) => {
      const body = startBody(options);
      const request = parseStartRequest(body);
      const client = clientOf(options);
      const reply = await client.start(body);
      const lines = [`Accepted at ${options.url}, with these options:`, ...optionLines(body, request)];
      if (!options.json) for (const line of [...lines, ...waitingLines('start', reply.waitingFor)]) console.log(line);
      await endAccepted(client, reply, acceptance, options);
    },
  );
}
