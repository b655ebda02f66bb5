import { execFileSync } from 'node:child_process';

/**
 * Whether promtool is on the PATH (Debian's package prometheus has it); tests that need it are skipped by name
 * otherwise.
 */
export const hasPromtool = ((): boolean => {
  try {
    execFileSync('promtool', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

/**
 * Runs promtool.
 * @returns all that it has printed when it finds something wrong, else nothing
 */
export function promtool(args: readonly string[], input = ''): string {
  try {
    execFileSync('promtool', [...args], { input, encoding: 'utf8', stdio: 'pipe' });
    return '';
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    return `${stdout}${stderr}` || String(error);
  }
}
