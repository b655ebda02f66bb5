import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compareWithReply } from '../../conformance/compare-outcomes.js';
import {
  askedBy,
  corpusFiles,
  isStep,
  nameOf,
  readCorpus,
  recordedOutcome,
  recordedReleases,
  releaseOf,
} from '../../conformance/corpus-file.js';
import { excusedSteps } from '../../conformance/excused-steps.js';
import type { HostRoles } from '../../conformance/host-roles.js';
import { comparedLeaves } from '../../conformance/leaves.js';
import { testSeed } from '../../../../../test/seed.js';
import { perturbationKinds, perturbed, seededRandom } from '../../conformance/perturbation.js';
import { equalMin, equalOfRelease } from '../../conformance/pinned-values.js';
import { programme } from '../../conformance/programme.js';
import { Replay } from '../../conformance/replay.js';
import { type FileScore, scoreOf } from '../../conformance/score.js';
import type { Stage } from '../../conformance/stage.js';

const replayMs = 180_000;
const sampledLeavesPerFile = 50;
const random = seededRandom(testSeed);

describe.each(programme)('corpus: $files', ({ files, open }) => {
  let stage: Stage;
  let replay: Replay;

  beforeAll(async () => {
    stage = await open();
    replay = new Replay(stage);
  });

  afterAll(() => stage.close());

  it.each(files)(
    '%s',
    async (file) => {
      const score = scoreOf(file, await replay.play(file));
      const different = score.played
        .filter((each) => each.differences.length > 0)
        .map((each) => `step ${each.step.step}: ${each.differences.map(({ path }) => path).join(', ')}`);
      expect(score.equal, different.join('\n')).toBeGreaterThanOrEqual(equalMin[file]);
      expect(unseenChanges(score, stage.roles)).toEqual([]);
    },
    replayMs,
  );
});

/**
 * Changes single leaves of recordings that were found equal to what was answered; gives those changes that the
 * comparison does not find.
 */
function unseenChanges({ played, file }: FileScore, roles: HostRoles): string[] {
  const equal = played.filter((each) => each.differences.length === 0);
  const unseen: string[] = [];
  for (let sampled = 0; sampled < sampledLeavesPerFile && equal.length > 0; sampled += 1) {
    const { step, answered } = draw(equal);
    const outcome = recordedOutcome(step);
    const leaves = comparedLeaves(outcome, askedBy(step));
    if (leaves.length === 0) continue;
    const leaf = draw(leaves);
    const kind = draw(perturbationKinds);
    const changed = perturbed(outcome, leaf, kind, askedBy(step), random);
    const other = step.error === undefined ? { ...step, reply: changed } : { ...step, error: changed };
    if (compareWithReply(other, answered, roles).length === 0)
      unseen.push(`${file}:${step.step} ${leaf.path} (${kind})`);
  }
  return unseen;
}

function draw<T>(from: readonly T[]): T {
  return from[Math.floor(random() * from.length)] as T;
}

describe('the corpus as a whole', () => {
  it.each(recordedReleases)('%s: as many steps equal as are known to be', (release) => {
    const files = corpusFiles.filter((file) => releaseOf(file) === release);
    const steps = files.reduce((sum, file) => sum + readCorpus(file).filter(isStep).length, 0);
    const equal = files.reduce((sum, file) => sum + equalMin[file], 0);
    expect({ equal, steps }).toEqual(equalOfRelease[release]);
    expect(steps - equal).toBe(
      excusedSteps.filter(({ step }) => files.some((file) => step.startsWith(`${file}:`))).length,
    );
  });
});

describe('excused steps', () => {
  it('are steps of the corpus, each named once and with a reason', () => {
    const steps = new Set(corpusFiles.flatMap((file) => readCorpus(file).filter(isStep).map(nameOf)));
    for (const { step, reason } of excusedSteps) {
      expect(steps).toContain(step);
      expect(reason).not.toBe('');
    }
    expect(new Set(excusedSteps.map(({ step }) => step)).size).toBe(excusedSteps.length);
  });
});
