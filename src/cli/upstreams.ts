import type { Command } from 'commander'
import type { LaneTest } from '../admin/test-lanes.ts'
import { type ConfigUsed, EXIT } from './cli-deps.ts'
import type { CommandContext } from './command-context.ts'
import { columnsOf, countOf, formatTable, printable, type Style } from './format.ts'

export function addUpstreams(program: Command, context: CommandContext): void {
  const upstreams = program.command('upstreams').description('the providers behind the models')
  addList(upstreams, context)
  addTest(upstreams, context)
}

const COLUMNS = columnsOf('id', 'wire', 'dialect', 'address', 'key', 'lanes')

function addList(upstreams: Command, context: CommandContext): void {
  upstreams
    .command('list')
    .description('the providers of the configuration, and what runs on each')
    .action(async () => {
      const answer = await context.deps.upstreams.list(context.place())
      if (answer.kind === 'invalid') return context.fail(EXIT.usage, answer.message)
      const rows = answer.value.map(({ id, wire, dialect, base_url: address, has_key: hasKey, lanes }) => [
        ...[id, wire, dialect, address ?? 'built in', hasKey ? 'configured' : 'none'],
        lanes.map((lane) => lane.model).join(' ') || 'none',
      ])
      const data = rows.length === 0 ? '' : formatTable(context.style, COLUMNS, rows)
      const none = rows.length === 0 ? 'The configuration has no upstream. ' : ''
      return context.print(
        { upstreams: answer.value, ...usedJson(answer.used) },
        {
          data,
          aside: `${none}Read from ${configName(answer.used)}.\n`,
        },
      )
    })
}

function addTest(upstreams: Command, context: CommandContext): void {
  upstreams
    .command('test')
    .description('ask every lane for a word, and say what is wrong; costs a few tokens there, and no account anything')
    .argument('[names...]', 'upstreams, models or lanes; all of them where none is named')
    .action(async (names: string[]) => {
      const { terminal } = context.deps
      const answer = await context.deps.upstreams.test(context.place(), {
        names,
        onBegin: (lanes, used) => {
          if (context.json) return
          const what = `${countOf(lanes, 'lane')} of ${configName(used)}`
          terminal.err(`Asking ${what}: a few tokens each, no account is charged.\n`)
        },
        // As it comes: one that is slow shall not hide the others.
        onTested: (test) => {
          if (!context.json) terminal.out(formatLaneTest(context.style, test))
        },
      })
      if (answer.kind === 'invalid') return context.fail(EXIT.usage, answer.message)
      const failed = answer.value.filter(({ ok }) => !ok).length
      const verdict = failed === 0 ? 'All is well.' : `${failed} of ${countOf(answer.value.length, 'lane')} failed.`
      context.print(
        { ok: failed === 0, lanes: answer.value, ...usedJson(answer.used) },
        { data: '', aside: `${verdict}\n` },
      )
      return context.end(failed === 0 ? EXIT.ok : EXIT.remoteFailed)
    })
}

const usedJson = ({ path, serverPid }: ConfigUsed) => ({ config: path, server_pid: serverPid })

function configName({ path, serverPid }: ConfigUsed): string {
  const name = path ?? 'the defaults (no file)'
  return serverPid === null ? name : `${name}, as the running server (pid ${serverPid})`
}

/** A line of what came, and below it what to do. */
export function formatLaneTest(style: Style, test: LaneTest): string {
  const { lane, upstream, ok, finding, message, cure, url, provider_says: says } = test
  const mark = ok ? style.green('ok  ') : style.red('FAIL')
  const below = [
    ...(url === null || ok || finding === 'not-asked' ? [] : [`asked: POST ${url}`]),
    ...(says === null ? [] : [`it says: ${says}`]),
    ...(cure === null ? [] : [cure]),
  ]
  const facts = factsOf(test)
  const first = `${mark}  ${lane ?? upstream}  ${[message, ...facts].join('; ')}`
  return [first, ...below.map((line) => `      ${line}`)].map((line) => `${printable(line)}\n`).join('')
}

function factsOf(test: LaneTest): string[] {
  const { total_ms: total, first_word_ms: first, input_tokens: input, output_tokens: output, answers_as: name } = test
  const refused = test.refused_fields
  return [
    ...(total === null ? [] : [first === null ? `${total} ms, no word` : `first word ${first} ms, whole ${total} ms`]),
    ...(total === null ? [] : [input === null ? 'tokens not counted' : `${input} tokens in, ${output} out`]),
    ...(name === null ? [] : [`as ${name}`]),
    ...(refused.length === 0 ? [] : [`asked again because it refused ${refused.join(', ')}`]),
  ]
}
