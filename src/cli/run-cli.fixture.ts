import type { CliDeps, OperatorAnswer, ServeOptions } from './cli-deps.ts'
import { runCli } from './create-program.ts'
import { createTestTerminal } from './terminal.fixture.ts'

interface Answers {
  readonly [operation: string]: OperatorAnswer<unknown>
}

/** The command line over parts that write down what they are asked. */
export function commandLine(options: { operations?: Answers; answers?: string[]; program?: string } = {}) {
  const terminal = createTestTerminal(options)
  const asked: { name: string; args: unknown; config: string | undefined; data: string | undefined }[] = []
  const served: ServeOptions[] = []
  const upstreams = { kind: 'done', value: [], used: { path: null, serverPid: null } } as const
  const deps: CliDeps = {
    terminal,
    program: options.program ?? 'millrace',
    operator: {
      // The fixture cannot know which value belongs to which name.
      call: async (place, name, args) => {
        asked.push({ name, args, ...place })
        return (options.operations?.[name] ?? { kind: 'done', value: {} }) as never
      },
    },
    serve: async (flags) => {
      served.push(flags)
      return 0
    },
    checkConfig: (place) =>
      place.config === 'bad.yaml'
        ? { ok: false, lines: ['bad.yaml:1:1  wrong'], json: { ok: false } }
        : { ok: true, lines: ['good'], json: { ok: true } },
    upstreams: { list: async () => upstreams, test: async () => upstreams },
    writeTemplate: async (path, mode) => ({ kind: mode.overwrite ? 'written' : 'exists', path }),
    versions: { millrace: '1.2.3', node: '20.20.2', driver: 'libsql 3', schema: '0001' },
  }
  return { said: terminal.said, asked, served, run: (line: string) => runCli(deps, line === '' ? [] : line.split(' ')) }
}

export const done = (value: unknown) => ({ kind: 'done', value }) as const
