import type { Hazard } from '../hazard.js';
import { coordinator, coordinatorTest } from '../places.js';

/** Messages between the processes of a fleet. */
export const messageHazards: readonly Hazard[] = [
  {
    number: 95,
    hazard: 'Somebody who can write to Redis, and has no token, queues a commit before the destination is ready for it',
    handling:
      'With `fleetSecret` all messages are signed. Instances refuse commands without a valid signature, for another ' +
      'instance or id, or older than five minutes, and believe no other reports.',
    open: 'Without `fleetSecret` Redis itself has to be protected. A warning says so beyond the local host.',
    sabotages: [
      {
        takesOut: 'the refusal of messages without a signature',
        file: coordinator('redis/signature.ts'),
        symbol: 'open',
        find: "if (parts === undefined) return this.#refuse(kind, 'unsigned');",
        replace: 'if (parts === undefined) return sealed;',
        tests: [coordinatorTest('fleet/command-job.test.ts', 'a commit that nobody signed does not open')],
      },
      {
        takesOut: 'the comparison of signatures',
        file: coordinator('redis/signature.ts'),
        symbol: 'open',
        find: 'if (!timingSafeEqual(Buffer.from(tag), Buffer.from(tagOf(this.#key, [kind, ...about, time], text))))',
        replace: 'if (tag === tagOf(this.#key, [kind], time))',
        tests: [
          coordinatorTest('fleet/command-job.test.ts', 'a commit with the signature of another secret does not open'),
          coordinatorTest('redis/signature.test.ts', 'is refused with any byte changed'),
        ],
      },
      {
        takesOut: 'recipient, id and time from the signature',
        file: coordinator('redis/signature.ts'),
        symbol: 'tagOf',
        find: '.update(`${JSON.stringify(about)}\\n`)',
        replace: '.update(`${about.length}\\n`)',
        tests: [
          coordinatorTest('fleet/command-job.test.ts', 'a commit of this fleet opens for its instance and id only'),
        ],
      },
      {
        takesOut: 'the age limit',
        file: coordinator('redis/signature.ts'),
        symbol: 'open',
        find: "if (age === 'recent' && !this.isRecent(Number(time)))",
        replace: "if (age === 'recent' && Number(time) === 0)",
        tests: [coordinatorTest('redis/signature.test.ts', 'is refused once it is old, or from a future clock')],
      },
    ],
  },
];
