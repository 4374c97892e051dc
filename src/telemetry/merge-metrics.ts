/** The metrics of one process, in Prometheus text format. */
interface ProcessMetrics {
  readonly worker: number
  readonly text: string
}

interface Family {
  /** HELP and TYPE. */
  readonly head: string[]
  readonly samples: string[]
}

/** The metrics of several processes as those of one server: each family once, each sample with a label that names its worker. */
export function mergeMetrics(processes: readonly ProcessMetrics[]): string {
  const families = new Map<string, Family>()
  for (const { worker, text } of processes) {
    let family: Family | undefined
    for (const line of text.split('\n')) {
      const [, name] = /^# (?:HELP|TYPE) (\S+)/.exec(line) ?? []
      if (name !== undefined) {
        family = families.get(name) ?? { head: [], samples: [] }
        families.set(name, family)
        if (!family.head.includes(line)) family.head.push(line)
      } else if (line !== '' && !line.startsWith('#')) family?.samples.push(withWorker(line, worker))
    }
  }
  return [...families.values()].map(({ head, samples }) => `${[...head, ...samples].join('\n')}\n`).join('\n')
}

/** `name{a="b"} 1` and `name 1`. */
const withWorker = (sample: string, worker: number): string =>
  sample.replace(/^([^\s{]+)(\{)?/, (_, name: string, brace: string | undefined) =>
    brace === undefined ? `${name}{worker="${worker}"}` : `${name}{worker="${worker}",`,
  )
