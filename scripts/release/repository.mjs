import { execFileSync } from 'node:child_process';
import { root } from '../process.mjs';

/**
 * The address of the repository that a release is made from, as npm writes it: of the workflow that runs, or of the
 * remote `origin`.
 * @returns {string | undefined} none where neither is known
 */
export function repositoryUrl(env = process.env, origin = remoteOrigin) {
  const { GITHUB_SERVER_URL: server, GITHUB_REPOSITORY: name } = env;
  if (server && name) return `git+${server}/${name}.git`;
  return asHttps(origin());
}

/** `git+https` form of a remote's address, without what it has of a login; none for paths and other hosts' forms. */
function asHttps(remote) {
  const [, host, path] =
    /^(?:https:\/\/(?:[^/@]+@)?|(?:ssh:\/\/)?git@)([^/:]+)[/:](.+?)(?:\.git)?\/?$/.exec(remote ?? '') ?? [];
  return host === undefined ? undefined : `git+https://${host}/${path}.git`;
}

function remoteOrigin() {
  try {
    return git('remote', 'get-url', 'origin');
  } catch {
    return undefined;
  }
}

/** @throws {Error} unless every file is committed and the commit bears the version's tag */
export function requireTaggedCommit(version) {
  if (git('status', '--porcelain') !== '') throw new Error('Commit all changes before a release, or use --dry-run.');
  const tags = git('tag', '--points-at', 'HEAD').split('\n');
  if (!tags.includes(`v${version}`))
    throw new Error(`The commit has no tag v${version}: run "git tag v${version}", or use --dry-run.`);
}

function git(...args) {
  return execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
}
