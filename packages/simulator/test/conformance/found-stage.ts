import { Timestamp } from 'bson';
import type { Doc } from '../../src/bson/value.js';
import { openSimulated } from '../differential/clusters.js';
import type { Command } from '../differential/case.js';
import type { RecordedRelease, Step } from './corpus-file.js';
import type { Stage } from './stage.js';

/**
 * Two shards behind two routers, as the differential asks them.
 * @param access with access control; `root` exists
 */
export async function openFoundStage(access: boolean, release: RecordedRelease = '5.0'): Promise<Stage> {
  const nodes = await openSimulated(release, { access });
  let newest = new Timestamp({ t: 0, i: 0 });
  return {
    roles: nodes.roles,
    clusterTime: () => newest,
    send: async (step: Step, command: Doc) => {
      const on = (step.on ?? 'router') as Command['on'];
      const client =
        step.who === undefined || nodes.as === undefined ? nodes.clients[on] : await nodes.as(step.who, on);
      const reply = await client.run(step.db ?? 'admin', command);
      const time = (reply.get('$clusterTime') as Doc | undefined)?.get('clusterTime') as Timestamp | undefined;
      if (time?.greaterThan(newest) === true) newest = time;
      return reply;
    },
    act: (step: Step) => Promise.reject(new Error(`no such action: ${JSON.stringify(step.command)}`)),
    actAtNote: () => Promise.resolve(),
    close: () => nodes.close(),
  };
}
