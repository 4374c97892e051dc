import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { hasPromtool, promtool, RULES, RULES_TEST } from '../support/promtool.ts'
import { chat } from '../support/send-chat.ts'
import { openAccount } from '../support/test-account.ts'
import { useServer } from '../support/use-server.ts'

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly runbook: string }
}

interface Panel {
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly targets?: readonly { readonly expr: string }[]
}

const textOf = (path: string) => readFile(new URL(`../../${path}`, import.meta.url), 'utf8')

const server = useServer()
/** The families of a page of metrics, by name, with their type. */
let families: ReadonlyMap<string, string>
let rules: readonly Rule[]
let panels: readonly Panel[]
let queries: readonly string[]

beforeAll(async () => {
  await chat(server(), await openAccount(server()))
  const page = await server().serving.renderMetrics()
  families = new Map([...page.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name = '', type = '']) => [name, type]))
  rules = parse(await readFile(RULES, 'utf8')).groups.flatMap((group: { rules: readonly Rule[] }) => group.rules)
  const dashboard = JSON.parse(await textOf('deploy/grafana/millrace.json'))
  panels = dashboard.panels
  queries = [
    ...panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    ...dashboard.templating.list.map(({ definition = '' }: { definition?: string }) => definition),
    ...dashboard.annotations.list.map(({ expr }: { expr: string }) => expr),
  ]
})

/** The families that a query names: histograms by one of their three series. */
function familiesIn(query: string): string[] {
  const names = query.match(/\b(?:millrace|gen_ai|nodejs|process)_\w+\b(?![^{]*")/g) ?? []
  return names.filter((name) => !/^gen_ai_request_model$/.test(name)).map(familyOf)
}

function familyOf(name: string): string {
  const family = name.replace(/_(?:bucket|sum|count)$/, '')
  return families.get(family) === 'histogram' ? family : name
}

const own = (name: string) => /^(?:millrace|gen_ai)_/.test(name)

describe('the metrics of a running server', () => {
  it('are all that the dashboard and the rules ask for', () => {
    const asked = new Set([...queries, ...rules.map(({ expr }) => expr)].flatMap(familiesIn))
    expect([...asked].filter((name) => !families.has(name))).toEqual([])
    expect(asked.size).toBeGreaterThan(40)
  })

  it('are all shown on the dashboard', () => {
    const shown = new Set(queries.flatMap(familiesIn))
    expect([...families.keys()].filter((name) => own(name) && !shown.has(name))).toEqual([])
  })

  it('are those of the documentation, and the other way round', async () => {
    const docs = await textOf('docs/operate/logs-and-metrics.md')
    const [, afterHeading = ''] = docs.split('\n| Series |')
    const [table = ''] = afterHeading.split('\n\n')
    const named = [...table.matchAll(/^\| (`[^|]*) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([a-z_]+)`/g)].map(([, name = '']) => name),
    )
    expect(named.filter(own).sort()).toEqual([...families.keys()].filter(own).sort())
  })
})

describe('the alert rules', () => {
  it('each have a severity, a summary and a section that says what to do', async () => {
    const page = await textOf('docs/operate/alerts.md')
    const sections = [...page.matchAll(/^### (\w+)\n\n`(\w+)`\./gm)].map(([, name, severity]) => `${name} ${severity}`)
    expect(rules.map(({ alert, labels }) => `${alert} ${labels.severity}`).sort()).toEqual(sections.sort())
    for (const { alert, annotations } of rules) {
      expect(annotations.runbook).toBe(`docs/operate/alerts.md#${alert.toLowerCase()}`)
      expect(annotations.summary.length).toBeGreaterThan(10)
    }
  })

  it('are each named on the dashboard, on a panel that shows what they look at', () => {
    const named = rules.map(({ alert, expr }) => {
      const asked = familiesIn(expr)
      const shows = ({ description = '', targets = [] }: Panel) =>
        new RegExp(`\\b${alert}\\b`).test(description) &&
        targets.some((target) => familiesIn(target.expr).some((name) => asked.includes(name)))
      return panels.some(shows) ? [] : [alert]
    })
    expect(named.flat()).toEqual([])
    const inDescriptions = panels.flatMap(({ description = '' }) => description.match(/\bMillrace[A-Z]\w+/g) ?? [])
    expect(inDescriptions.filter((name) => !rules.some(({ alert }) => alert === name))).toEqual([])
  })

  it.runIf(hasPromtool)('and their tests pass promtool, which notices a rule that does not fire', async () => {
    expect(await promtool('check', 'rules', RULES)).toContain(`${rules.length} rules found`)
    expect(await promtool('test', 'rules', RULES_TEST)).toContain('SUCCESS')
    const broken = (await readFile(RULES, 'utf8')).replace(
      'millrace_failovers_total[10m])) > 0',
      'millrace_x[10m])) > 0',
    )
    await writeFile(join(server().folder, 'rules.yml'), broken)
    const { tests, ...terms } = parse(await readFile(RULES_TEST, 'utf8'))
    const ofFailover = tests.filter(({ name }: { name: string }) => name === 'a failover')
    await writeFile(join(server().folder, 'rules.test.yml'), JSON.stringify({ ...terms, tests: ofFailover }))
    await expect(promtool('test', 'rules', join(server().folder, 'rules.test.yml'))).rejects.toThrow('MillraceFailover')
  })

  it.runIf(hasPromtool)('and every query of the dashboard is PromQL', async () => {
    const file = join(server().folder, 'dashboard-rules.json')
    const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
    const recorded = expressions.map((expr, index) => ({
      record: `panel:${index}`,
      expr: expr.replaceAll('$__rate_interval', '5m').replaceAll(/\$(?:instance|model|lane)\b/g, '.*'),
    }))
    await writeFile(file, JSON.stringify({ groups: [{ name: 'dashboard', rules: recorded }] }))
    expect(await promtool('check', 'rules', file)).toContain(`${expressions.length} rules found`)
  })
})
