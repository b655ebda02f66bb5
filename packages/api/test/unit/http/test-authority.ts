import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Whether this host can issue certificates. */
export const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
const thisHost = 'IP:127.0.0.1,DNS:localhost';

/** Files of a certificate. */
export interface IssuedFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** What a certificate is about. */
export interface Issued {
  /** Negative days have passed. */
  readonly days?: number;
  /** Its host names and addresses in the form of OpenSSL. */
  readonly names?: string;
  /** Its subject in the form of OpenSSL. */
  readonly subject?: string;
}

/** A certificate authority in a folder of its own. */
export class TestAuthority implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'convoy-authority-'));
  readonly caFile = join(this.folder, 'ca.crt');
  readonly #caKey = join(this.folder, 'ca.key');

  constructor() {
    const subject = ['-subj', '/CN=Test authority'];
    openssl(['req', '-x509', ...newKey, '-keyout', this.#caKey, '-out', this.caFile, '-days', '2', ...subject]);
  }

  /** Issues a certificate, by default for this host, under the name of its files, over former ones. */
  issue(name: string, { days = 2, names = thisHost, subject = '/CN=localhost' }: Issued = {}): IssuedFiles {
    const file = (ending: string): string => join(this.folder, `${name}.${ending}`);
    writeFileSync(file('ext'), `subjectAltName=${names}\n`);
    openssl(['req', ...newKey, '-keyout', file('key'), '-out', file('csr'), '-subj', subject]);
    const signing = ['-CA', this.caFile, '-CAkey', this.#caKey, '-CAcreateserial', '-extfile', file('ext')];
    openssl(['x509', '-req', '-in', file('csr'), ...signing, '-out', file('crt'), '-days', String(days)]);
    return { certFile: file('crt'), keyFile: file('key') };
  }

  /** The same in one file with certificate and key, as MongoDB takes them. */
  issueTogether(name: string, about: Issued = {}): string {
    const { certFile, keyFile } = this.issue(name, about);
    const path = join(this.folder, `${name}.pem`);
    writeFileSync(path, readFileSync(certFile, 'utf8') + readFileSync(keyFile, 'utf8'), { mode: 0o600 });
    return path;
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function openssl(args: readonly string[]): void {
  execFileSync('openssl', [...args], { stdio: 'ignore' });
}
