import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { corpusFiles, isStep, nameOf, readCorpus } from '../../conformance/corpus-file.js';
import { excusedSteps } from '../../conformance/excused-steps.js';
import { equalMin } from '../../conformance/pinned-figures.js';
import { programme } from '../../conformance/programme.js';
import { Replay } from '../../conformance/replay.js';
import { scoreOf } from '../../conformance/score.js';
import type { Stage } from '../../conformance/stage.js';

const replayMs = 180_000;

describe.each(programme)('corpus: $files', ({ files, open }) => {
  let stage: Stage;
  let replay: Replay;

  beforeAll(async () => {
    stage = await open();
    replay = new Replay(stage);
  });

  afterAll(() => stage.close());

  it.each(files)('%s', async (file) => {
    const score = scoreOf(file, await replay.play(file));
    const different = score.played.filter((each) => each.differences.length > 0).map((each) => `step ${each.step.step}: ${each.differences.map(({ path }) => path).join(', ')}`);
    expect(score.equal, different.join('\n')).toBeGreaterThanOrEqual(equalMin[file]);
  }, replayMs);
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
