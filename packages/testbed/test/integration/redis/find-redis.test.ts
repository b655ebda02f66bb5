import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { expect, test, vi } from 'vitest';
import { ScratchFolder } from '@convoy/testbed/process/scratch-folder';
import { unpackDebianRedis } from '@convoy/testbed/redis/debian-redis';
import { findRedis } from '@convoy/testbed/redis/find-redis';

/** A `docker` that answers, and has no image and no way to fetch one. */
const dockerWithoutImages = `#!/bin/sh
[ "$1" = info ] && exit 0
echo 'docker: Error response from daemon: lookup registry: network is unreachable' >&2
exit 125
`;

test('a Docker that cannot fetch the image does not keep Redis away', async (context) => {
  context.skip((await unpackDebianRedis()) === undefined, "needs Debian's packages");
  using folder = ScratchFolder.create('find-redis');
  const docker = folder.file('path/docker');
  mkdirSync(dirname(docker));
  writeFileSync(docker, dockerWithoutImages, { mode: 0o755 });
  vi.stubEnv('CONVOY_REDIS_URL', '');
  vi.stubEnv('PATH', dirname(docker));
  try {
    await using redis = await findRedis(folder);
    expect(redis.origin).toContain("Debian's package");
  } finally {
    vi.unstubAllEnvs();
  }
});
