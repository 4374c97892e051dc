import type { Command } from 'commander'
import type { LaneTest } from '../admin/test-lanes.ts'
import { type ConfigUsed, EXIT } from './cli-services.ts'
import type { CommandContext } from './command-context.ts'
import { columnsOf, countOf, formatTable, printable, type Style } from './format.ts'

const COLUMNS = columnsOf('id', 'wire', 'dialect', 'address', 'key', 'lanes')

export function addUpstreams(program: Command, context: CommandContext): void {
  const upstreams = program.command('upstreams').description('inspect and test the providers')
  upstreams
    .command('list')
    .description('list the providers of the configuration, and the models on each')
    .action(async () => {
      const answer = await context.services.upstreams.list(context.place())
      if (answer.kind === 'invalid') return context.fail(EXIT.usage, answer.message)
      const rows = answer.value.map(({ id, wire, dialect, base_url: address, has_key: hasKey, lanes }) => [
        ...[id, wire, dialect, address ?? 'built in', hasKey ? 'configured' : 'none'],
        lanes.map((lane) => lane.model).join(' ') || 'none',
      ])
      const none = rows.length === 0 ? 'The configuration has no upstreams. ' : ''
      return context.print(
        { upstreams: answer.value, ...usedJson(answer.used) },
        {
          data: rows.length === 0 ? '' : formatTable(context.style, COLUMNS, rows),
          note: `${none}Read from ${configName(answer.used)}.\n`,
        },
      )
    })
  upstreams
    .command('test')
    .description('send a short request to every lane and report what is wrong; costs a few tokens at the provider')
    .argument('[names...]', 'upstreams, models or lanes; default: all')
    .action(async (names: string[]) => {
      const { terminal } = context.services
      const answer = await context.services.upstreams.test(context.place(), {
        names,
        onBegin: (lanes, used) => {
          if (context.json) return
          const what = `${countOf(lanes, 'lane')} of ${configName(used)}`
          terminal.err(`Testing ${what}: a few tokens each, charged to no account.\n`)
        },
        // Printed as they finish, so that a slow lane does not delay the others.
        onTested: (test) => {
          if (!context.json) terminal.out(formatLaneTest(context.style, test))
        },
      })
      if (answer.kind === 'invalid') return context.fail(EXIT.usage, answer.message)
      const failed = answer.value.filter(({ ok }) => !ok).length
      const lanes = countOf(answer.value.length, 'lane')
      const verdict = failed === 0 ? 'All lanes passed.' : `${failed} of ${lanes} failed.`
      context.print(
        { ok: failed === 0, lanes: answer.value, ...usedJson(answer.used) },
        { data: '', note: `${verdict}\n` },
      )
      return context.end(failed === 0 ? EXIT.ok : EXIT.remoteFailed)
    })
}

const usedJson = ({ path, serverPid }: ConfigUsed) => ({ config: path, server_pid: serverPid })

function configName({ path, serverPid }: ConfigUsed): string {
  const name = path ?? 'the defaults (no file)'
  return serverPid === null ? name : `${name}, as the running server (pid ${serverPid})`
}

/** One line for the result, and indented lines for the details and the fix. */
export function formatLaneTest(style: Style, test: LaneTest): string {
  const { lane, upstream, ok, finding, message, cure, url, provider_says: says } = test
  const mark = ok ? style.green('ok  ') : style.red('FAIL')
  const below = [
    ...(url === null || ok || finding === 'not-asked' ? [] : [`request: POST ${url}`]),
    ...(says === null ? [] : [`provider: ${says}`]),
    ...(cure === null ? [] : [cure]),
  ]
  const first = `${mark}  ${lane ?? upstream}  ${[message, ...factsOf(test)].join('; ')}`
  return [first, ...below.map((line) => `      ${line}`)].map((line) => `${printable(line)}\n`).join('')
}

function factsOf(test: LaneTest): string[] {
  const { total_ms: total, first_word_ms: first, input_tokens: input, output_tokens: output, answers_as: name } = test
  const refused = test.refused_fields
  return [
    ...(total === null
      ? []
      : [first === null ? `${total} ms, no content` : `first token ${first} ms, total ${total} ms`]),
    ...(total === null ? [] : [input === null ? 'no usage reported' : `${input} tokens in, ${output} out`]),
    ...(name === null ? [] : [`model ${name}`]),
    ...(refused.length === 0 ? [] : [`retried because it rejected ${refused.join(', ')}`]),
  ]
}
