import { type Command, Option } from 'commander'
import type { ServerStatus, WorkerStatus } from '../admin/server-status.ts'
import { pause } from '../lib/async.ts'
import { msBetween, systemClock } from '../lib/clock.ts'
import { type DoctorReport, EXIT, type OperatorAnswer } from './cli-services.ts'
import { type CommandContext, parseCount, parsePort } from './command-context.ts'
import { describeClock } from './db.ts'
import { alignColumns, countOf, dayOf, formatFacts, printable, type Style } from './format.ts'

interface ServeFlags {
  readonly host?: string
  readonly port?: number
  readonly metricsPort?: number
  readonly console: boolean
  readonly logLevel?: string
  readonly logFormat?: string
}

export function addServe(program: Command, context: CommandContext): void {
  program
    .command('serve')
    .description('start the server (the default command)')
    .option('--host <address>', 'address to listen on')
    .option('--port <number>', 'port to listen on', parsePort)
    .option('--metrics-port <number>', 'port of /metrics; 0 takes any free one', parsePort)
    .option('--no-console', 'do not serve the web console')
    .addOption(new Option('--log-level <level>', 'log level').choices(['debug', 'info', 'warn', 'error', 'silent']))
    .addOption(new Option('--log-format <format>', 'log format').choices(['auto', 'json', 'pretty']))
    .action(async ({ host, port, metricsPort, console, logLevel, logFormat }: ServeFlags) => {
      const options = {
        host,
        port,
        metricsPort,
        console: console ? undefined : 'false',
        logLevel,
        logFormat,
        json: context.json,
      }
      context.end(await context.services.serve({ ...context.place(), ...options }))
    })
}

export function addCheck(program: Command, context: CommandContext): void {
  program
    .command('check')
    .description('validate the configuration as the server would')
    .option('--strict', 'exit 1 if there is a warning')
    .option('--pin', 'write down the current prices and sizes of imported models, which the server then uses')
    .action(async ({ strict, pin }: { strict?: true; pin?: true }) => {
      if (pin === true && !(await pinImports(context))) return
      const report = await context.services.checkConfig(context.place())
      const text = report.lines.map((line) => `${line}\n`).join('')
      // Problems go to stderr, as in every command that reads the file.
      context.print(report.json, report.ok ? { data: text } : { data: '', note: text })
      const isRefused = strict === true && report.warned
      context.end(report.ok ? (isRefused ? EXIT.failure : EXIT.ok) : EXIT.usage)
    })
}

/** False when the configuration is invalid. */
async function pinImports(context: CommandContext): Promise<boolean> {
  const outcome = await context.services.pinImports(context.place())
  if (outcome.kind === 'invalid') {
    context.fail(EXIT.usage, outcome.lines.join('\n'))
    return false
  }
  if (context.json) return true
  const { err } = context.services.terminal
  if (outcome.kind === 'nothing') err('The configuration imports nothing, so there is nothing to pin.\n')
  else {
    const changes = outcome.changes.map((change) => `  ${change}\n`).join('')
    err(`Pinned ${countOf(outcome.models, 'model')} in ${outcome.path}. Keep it with the configuration.\n${changes}`)
  }
  return true
}

interface InitOptions {
  readonly yes?: boolean
  readonly force?: boolean
  readonly fromLitellm?: string
}

export function addInit(program: Command, context: CommandContext): void {
  program
    .command('init')
    .description('write a commented millrace.yaml to start from')
    .argument('[file]', 'file to write', 'millrace.yaml')
    .option('-y, --yes', 'do not ask for confirmation')
    .option('--force', 'replace an existing file')
    .option('--from-litellm <file>', 'convert the config.yaml of a LiteLLM proxy')
    .action(async (file: string, { yes, force, fromLitellm }: InitOptions) => {
      const path = context.place().config ?? file
      const { terminal } = context.services
      if (yes !== true && terminal.interactive) {
        const answer = await terminal.ask(`Write ${path}? [Y/n] `)
        if (answer === undefined || /^n/i.test(answer.trim())) {
          context.fail(EXIT.failure, 'Nothing was written.')
          return
        }
      }
      const outcome = await context.services.writeTemplate(path, { overwrite: force === true, litellm: fromLitellm })
      if (outcome.kind === 'exists') {
        context.fail(EXIT.failure, `${outcome.path} already exists; --force replaces it.`)
        return
      }
      const next = fromLitellm === undefined ? 'Add an upstream' : 'Check the prices'
      const note = [...outcome.notes, `${next}, then:  millrace check && millrace serve\n`].join('\n')
      context.print({ path: outcome.path, notes: outcome.notes }, { data: `Wrote ${outcome.path}\n`, note })
    })
}

const describeWorkers = (workers: readonly WorkerStatus[]): string =>
  workers.map(({ worker, pid, requests_running }) => `${worker} (pid ${pid}, ${requests_running} running)`).join(', ')

/** As `/readyz` decides it. */
const isReady = (status: ServerStatus): boolean => status.running && !status.draining && status.ledger_available

const READY_POLL_MS = 200

interface Wait {
  readonly seconds: number
  /** Without this process no server will be ready. */
  readonly pid: number | undefined
}

/** The first answer of a ready server, or the last one within the time. A server that cannot answer yet is asked again. */
async function waitUntilReady(
  { services, place }: CommandContext,
  { seconds, pid }: Wait,
): Promise<OperatorAnswer<ServerStatus>> {
  const endMicros = systemClock.nowMicros() + seconds * 1_000_000
  const leftMs = () => msBetween(systemClock.nowMicros(), endMicros)
  for (;;) {
    const isStarting = pid === undefined || services.isAlive(pid)
    const answer = await services.operator.call(place(), 'status', {}, Math.max(READY_POLL_MS, leftMs()))
    if (answer.kind === 'done' && isReady(answer.value)) return answer
    if (leftMs() <= 0 || !isStarting) return answer
    await pause(Math.min(READY_POLL_MS, leftMs()))
  }
}

export function addStatus(program: Command, context: CommandContext): void {
  program
    .command('status')
    .description('show whether a server runs on this data folder, and its state; exit 3 if none does')
    .option('--ready [seconds]', 'exit 1 unless the server accepts requests; wait up to that long for it', parseCount)
    .option('--while-pid <pid>', 'stop waiting when this process has ended', parseCount)
    .action(async ({ ready, whilePid: pid }: { ready?: number | true; whilePid?: number }) => {
      const answer =
        typeof ready === 'number'
          ? await waitUntilReady(context, { seconds: ready, pid })
          : await context.services.operator.call(context.place(), 'status', {})
      const status = context.valueOf(answer)
      const { style } = context
      if (status === undefined) return
      if (ready !== undefined && !isReady(status)) context.end(EXIT.failure)
      // Files that are no longer used. The operator may delete them.
      const files = status.set_aside ?? []
      const unused = files.length === 0 ? '' : `Unused files: ${files.join(', ')}\n`
      if (!status.running) {
        context.end(EXIT.notRunning)
        const question = status.has_ledger === false ? ', which has no Millrace data: is it the right one?' : ''
        const note = `Data folder: ${status.data}${question}\n${unused}`
        context.print(status, { data: `${style.yellow('Not running.')}\n`, note })
        return
      }
      const state = status.draining ? style.yellow('Stopping.') : style.green('Running.')
      const rejected =
        status.reload_refused &&
        style.red(`the file on disk was rejected: ${status.reload_refused.replace(/\s*\n\s*/g, '; ')}`)
      const facts = formatFacts(style, [
        ['api', `${status.public_url ?? status.url}/v1`],
        ['version', `${status.version} (node ${status.node}, ${status.driver})`],
        ['pid', String(status.pid)],
        ['workers', status.workers && describeWorkers(status.workers)],
        ['since', status.started_at],
        ['config', status.config],
        ['', rejected],
        ['certificate', status.certificate_expires_at && `valid until ${dayOf(status.certificate_expires_at)}`],
        ['data', status.data],
        ['ledger', status.ledger_available ? 'open' : 'not available'],
        ['clock', describeClock(status.clock)],
        ['models', String(status.models)],
        ['requests', `${status.requests_running} running, ${status.requests_served} served`],
      ])
      context.print(status, { data: `${state}\n${facts}`, note: unused })
    })
}

export function addDoctor(program: Command, context: CommandContext): void {
  program
    .command('doctor')
    .description('look for common faults of the set-up, each with its cure; exit 1 if something is broken')
    .option('--online', 'also send a short request to each provider; costs a few tokens there')
    .action(async ({ online }: { online?: true }) => {
      const report = await context.services.doctor(context.place(), { online: online === true })
      const { examined, skipped } = report
      const rows = alignColumns(examined.map(({ area, at }) => [`  ${area}`, at]))
      context.print(report, {
        data: context.pastable(formatFindings(context.style, report)),
        before: `Examined:\n${rows.join('\n')}\n${skipped.map((line) => `  ${context.pastable(line)}\n`).join('')}\n`,
      })
      context.end(report.ok ? EXIT.ok : EXIT.failure)
    })
}

/** Every finding with its reason and its cure, and a line for all. */
function formatFindings(style: Style, { findings }: DoctorReport): string {
  if (findings.length === 0) return `${style.green('No fault found.')}\n`
  const blocks = findings.map(({ fault, severity, message, why, cure }) => {
    const mark = severity === 'broken' ? style.red('broken ') : style.yellow('warning')
    const lines = message.split('\n').map(printable)
    return [
      `${mark}  ${lines.join('\n         ')}  ${style.dim(`[${fault}]`)}`,
      `         Why:  ${why}`,
      `         Cure: ${printable(cure)}`,
    ].join('\n')
  })
  const broken = findings.filter(({ severity }) => severity === 'broken').length
  const verdict = `${broken} broken, ${countOf(findings.length - broken, 'warning')}.`
  return `${blocks.join('\n\n')}\n\n${verdict}\n`
}
