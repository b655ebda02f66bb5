/** A failure reply of the service. */
export class ApiFailure extends Error {
  constructor(
    readonly status: number,
    readonly error: string,
    description: string,
  ) {
    super(description);
    this.name = 'ApiFailure';
  }
}

const tokenKey = 'convoy-token';
/** The coordinator waits 30 s for its instances. */
const commandLimit_ms = 45_000;
/** Reads are repeated anyway. */
const readLimit_ms = 10_000;

/** Calls the coordinator with this page's token, which only this tab stores. */
export class FleetApi {
  /** Reads a token from the address (`#token=…`), which no server receives, and removes it there. */
  constructor() {
    const given = new URLSearchParams(location.hash.slice(1)).get('token');
    if (given === null) return;
    this.useToken(given);
    history.replaceState(null, '', location.pathname);
  }

  useToken(token: string): void {
    sessionStorage.setItem(tokenKey, token);
  }

  get hasToken(): boolean {
    return sessionStorage.getItem(tokenKey) !== null;
  }

  headers(): Record<string, string> {
    const token = sessionStorage.getItem(tokenKey);
    return token === null ? {} : { authorization: `Bearer ${token}` };
  }

  /** @throws ApiFailure the service's failure; TypeError when it does not respond */
  async read<Reply>(path: string, limit_ms = readLimit_ms): Promise<Reply> {
    return bodyOf(await this.#exchange(path, limit_ms)) as Promise<Reply>;
  }

  /** Reads what the service first has to ask an instance for. Throws as `read`. */
  readSlowly<Reply>(path: string): Promise<Reply> {
    return this.read(path, commandLimit_ms);
  }

  /** Reads a reply of one JSON document per line. Throws as `read`. */
  async readLines<Line>(path: string): Promise<Line[]> {
    return (await (await this.#exchange(path)).text())
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Line);
  }

  /** Reads a file. Throws as `read`. */
  async readFile(path: string): Promise<Blob> {
    return (await this.#exchange(path)).blob();
  }

  /** Throws as `read`. */
  async command(name: string, body: unknown): Promise<void> {
    await this.ask(name, body);
  }

  /** Sends a body by POST and reads the reply. Throws as `read`. */
  async ask<Reply>(name: string, body: unknown): Promise<Reply> {
    const headers = { ...this.headers(), 'content-type': 'application/json' };
    const request = { method: 'POST', headers, body: JSON.stringify(body) };
    return bodyOf(await this.#exchange(`/api/v1/${name}`, commandLimit_ms, request)) as Promise<Reply>;
  }

  async #exchange(path: string, limit_ms = readLimit_ms, request: RequestInit = {}): Promise<Response> {
    const response = await fetch(path, {
      headers: this.headers(),
      signal: AbortSignal.timeout(limit_ms),
      ...request,
    });
    if (!response.ok) throw await failureOf(response);
    return response;
  }
}

/** The failure that a reply describes. */
export async function failureOf(response: Response): Promise<ApiFailure> {
  const { error, errorDescription } = (await bodyOf(response)) as { error?: string; errorDescription?: string };
  return new ApiFailure(response.status, error ?? `HTTP ${response.status}`, errorDescription ?? response.statusText);
}

function bodyOf(response: Response): Promise<unknown> {
  return response.json().catch(() => ({}));
}
