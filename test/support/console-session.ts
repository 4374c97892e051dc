import {
  type AnswerOf,
  type BodyOf,
  CONSOLE_API,
  type QueryOf,
  type RouteName,
} from '../../src/contract/console-api.ts'
import type { ConsoleError, ParamsOf } from '../../src/contract/values.ts'
import type { Role } from '../../src/db/people-tables.ts'
import { readSetCookie } from './set-cookie.ts'
import type { TestServer } from './start-server.ts'

export const PASSWORD = 'a password for walks'

/** What is sent along; whatever the types of a route say, a test may send something else. */
export interface Sent {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** Beside those of an honest page; undefined takes one away. */
  readonly headers?: Readonly<Record<string, string | undefined>>
}

export interface Delivered {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly json: unknown
  readonly error: ConsoleError['error'] | undefined
}

/** A browser with the console open in it. */
export interface ConsolePerson {
  readonly email: string
  /** What the browser sends, or nothing. */
  cookie: string | undefined
  /** What it keeps from earlier sign-ins, and sends along. */
  device: string | undefined
  csrf: string | undefined
  /** Whatever is answered. */
  send(name: RouteName, sent?: Sent): Promise<Delivered>
  /** What is answered, judged by the contract; a refusal is a failure of the test. */
  call<Name extends RouteName>(name: Name, sent?: Received<Name>): Promise<AnswerOf<Name>>
}

interface Received<Name extends RouteName> {
  readonly params?: ParamsOf<Name>
  readonly query?: QueryOf<Name>
  readonly body?: BodyOf<Name>
}

/** `host`: a browser has passkeys under a name alone, such as localhost. */
export function openBrowser(
  server: Pick<TestServer, 'port'>,
  email = 'nobody@example.com',
  host = '127.0.0.1',
): ConsolePerson {
  const origin = `http://${host}:${server.port}`
  const person: ConsolePerson = {
    email,
    cookie: undefined,
    device: undefined,
    csrf: undefined,
    async send(name, { params = {}, query = {}, body, headers = {} } = {}) {
      const [method = '', template = ''] = name.split(' ')
      const path = template.replace(/:(\w+)/g, (_, key: string) => encodeURIComponent(params[key] ?? 'none'))
      const search = new URLSearchParams(query).toString()
      const all: Record<string, string | undefined> = {
        ...(method === 'GET' ? {} : { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin', origin }),
        cookie: [person.cookie, person.device].filter((each) => each !== undefined).join('; ') || undefined,
        'x-csrf-token': person.csrf,
        ...headers,
      }
      const sent = Object.entries(all).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]]))
      const response = await fetch(`${origin}/console/api${path}${search === '' ? '' : `?${search}`}`, {
        method,
        headers: sent as [string, string][],
        ...(method === 'GET' ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body ?? {}) }),
      })
      return read(person, response)
    },
    async call(name, sent) {
      const reported = await person.send(name, sent as Sent)
      if (reported.status !== 200) throw new Error(`${name}: ${reported.status} ${reported.text}`)
      const { answer } = CONSOLE_API[name]
      return answer.parse(
        reported.headers.get('content-type')?.startsWith('text/csv') ? reported.text : reported.json,
      ) as never
    },
  }
  return person
}

async function read(person: ConsolePerson, response: Response): Promise<Delivered> {
  const text = await response.text()
  const isJson = response.headers.get('content-type') === 'application/json'
  const json: unknown = isJson ? JSON.parse(text) : undefined
  for (const line of response.headers.getSetCookie()) {
    const { name, sent } = readSetCookie(line)
    if (name.endsWith('millrace_device')) person.device = sent
    else person.cookie = sent
  }
  const accountStatus = json as { csrf?: string | null } | undefined
  if (response.ok && accountStatus?.csrf !== undefined) person.csrf = accountStatus.csrf ?? undefined
  const error = response.ok ? undefined : (json as ConsoleError | undefined)?.error
  return { status: response.status, headers: response.headers, text, json, error }
}

/** A turn in the playground, which is no route of the contract: its body is the protocol's own. */
export const play = (person: ConsolePerson, body: unknown, headers: Sent['headers'] = {}): Promise<Delivered> =>
  person.send('POST /playground/chat/completions' as RouteName, { body, headers })

interface ChangeRequest {
  readonly email: string
  readonly role?: Role
  /** Whose keys and money they see: an id. */
  readonly account?: string
}

/** Invited as an operator invites, signed up as people sign up, and signed in. */
export async function signUp(
  server: TestServer,
  { email, role = 'owner', account }: ChangeRequest,
): Promise<ConsolePerson> {
  const named = account === undefined ? {} : { account }
  const { code } = await server.operate('people.invite', { email, role, ...named })
  const person = openBrowser(server, email)
  await person.call('POST /sign-up', { body: { code, password: PASSWORD } })
  return person
}
