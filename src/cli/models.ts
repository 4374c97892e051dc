import type { Command } from 'commander'
import type { OperationValue } from '../admin/operations.ts'
import type { LaneTest } from '../admin/test-lanes.ts'
import type { OpenReason } from '../routing/circuit-breaker.ts'
import { type ConfigUsed, EXIT } from './cli-services.ts'
import type { CommandContext } from './command-context.ts'
import { columnsOf, countOf, formatTable, printable, type Style } from './format.ts'

const COLUMNS = columnsOf(
  ...['id', 'efforts', 'inputs', '>context', '>input', '>cached', '>cache write', '>output'],
  ...['prompt cache', 'kinds', 'lanes'],
)

export function addModels(program: Command, context: CommandContext): void {
  program
    .command('models')
    .description('list the models, with prices in USD per million tokens')
    .action(() =>
      context.operate('models.list', {}, ({ models }, style) => {
        if (models.length === 0) return { data: '', note: 'The configuration has no models.\n' }
        const rows = models.map(({ id, efforts, inputs, context_tokens, price, kinds, lanes }) => [
          ...[id, efforts === null ? 'any' : efforts.join(' ') || 'none', inputs.join(' '), String(context_tokens)],
          ...[price?.input ?? 'no price', price?.cached_input ?? '', price?.cache_write ?? '', price?.output ?? ''],
          [...new Set(lanes.flatMap(({ prompt_cache }) => prompt_cache ?? []))].join(' '),
          ...[kinds.join(' '), lanes.map((lane) => lane.id).join(' ')],
        ])
        // A context that is too small costs money: the provider's count decides what is billed.
        const warnings = models.flatMap(({ id, context_tokens, counted_beyond_context: counted }) =>
          counted === null
            ? []
            : `${style.yellow('warning:')} ${id}: context_tokens is ${context_tokens}, but a provider counted ${counted} input tokens: it looks too small.\n`,
        )
        const imported = models.filter(({ imported_from: from }) => from !== null)
        const origins = [...new Set(imported.map(({ imported_from: from }) => from))].join(', ')
        const note = imported.length === 0 ? '' : `${countOf(imported.length, 'model')} imported from ${origins}.\n`
        return { data: formatTable(style, COLUMNS, rows), note: `${note}${warnings.join('')}` }
      }),
    )
}

const ROUTE_COLUMNS = columnsOf('lane', '>priority', '>weight', '>tried first', 'state', 'cannot')

export function addRoute(program: Command, context: CommandContext): void {
  const route = program.command('route').description('inspect routing')
  route
    .command('explain <model>')
    .description('show which lanes a request for a model would try now, and which circuits are open')
    .action((model: string) =>
      context.operate('route.explain', { model }, (view, style) => ({
        data: formatTable(
          style,
          ROUTE_COLUMNS,
          view.lanes.map((lane) => [
            ...[lane.id, String(lane.priority), String(lane.weight), `${lane.first_percent} %`],
            ...[laneState(lane), lane.cannot.join(' ')],
          ]),
        ),
        note: notesOf(view, style),
      })),
    )
}

type RouteView = OperationValue<'route.explain'>

const REASONS: Readonly<Record<OpenReason, string>> = {
  failing: 'failing',
  busy: 'rate-limited',
  overloaded: 'overloaded',
  'locked-out': 'rejects the credential, the account or the model name',
}

function laneState({ asked, aside }: RouteView['lanes'][number]): string {
  if (aside === null) return 'available'
  const { reason, seconds_left: left } = aside
  if (left > 0) return `${REASONS[reason]}; circuit open for ${left} s`
  return `${REASONS[reason]}; half-open, ${asked ? 'the next request tries it' : 'a request is trying it'}`
}

function notesOf(view: RouteView, style: Style): string {
  const notes = [
    ...(view.has_price ? [] : ['It has no price, so it cannot be called. Set models[].price.']),
    ...(view.lanes.length > 0 && view.lanes.every(({ asked }) => !asked)
      ? ['No lane is available: requests get 503 with Retry-After, or 429 if every lane is rate-limited.']
      : []),
    ...(view.lanes.length > 1 ? ['A running conversation stays on its lane, regardless of this order.'] : []),
    ...(view.server_runs ? [] : ['No server is running here, so the state of the circuits is unknown.']),
  ]
  return notes.map((note) => `${style.dim(note)}\n`).join('')
}

const TEST_COLUMNS = columnsOf('id', 'wire', 'dialect', 'address', 'key', 'lanes')

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
          data: rows.length === 0 ? '' : formatTable(context.style, TEST_COLUMNS, rows),
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
