import { describe, expect, it } from 'vitest'
import { DEMO_YAML, load, loaded, type World } from '../../test/fixtures/config/config.ts'

const model = (id: string) =>
  `  - { id: ${id}, context_tokens: 1000, max_output_tokens: 100, lanes: [{ upstream: demo, model: x }] }\n`
const models = (...ids: string[]) => `models:\n${ids.map(model).join('')}`

const problemsOf = (world: World) => {
  const outcome = load(world)
  if (outcome.kind === 'loaded') return []
  return outcome.problems.map(({ place, path, message }) => `${place.origin}:${place.line} ${path}: ${message}`)
}

describe('include', () => {
  it('joins lists and maps of several files, those of a pattern by name, each relative to the file that names it', () => {
    const { config, files } = loaded({
      yaml: `include: [parts/more.yaml, "models/*.yaml"]\nserver: { port: 1 }\n${DEMO_YAML}${models('main')}`,
      files: {
        '/srv/parts/more.yaml': `include: [deep.yaml]\nserver: { max_connections: 99 }\n${models('more')}`,
        '/srv/parts/deep.yaml': `drain: { timeout: 9s }\nstorage: { data: "\${file:folder}" }\n`,
        '/srv/parts/folder': '/var/deep\n',
        '/srv/models/b.yaml': models('b'),
        '/srv/models/a.yaml': models('a'),
        '/srv/models/notes.txt': 'no configuration',
      },
    })
    expect(config.models.map(({ id }) => id)).toEqual(['main', 'more', 'a', 'b'])
    expect([config.server.port, config.server.maxConnections, config.drain.timeoutMs]).toEqual([1, 99, 9000])
    expect(config.storage.data).toBe('/var/deep')
    expect(files).toEqual(
      expect.arrayContaining(['/srv/parts/deep.yaml', '/srv/parts/folder', '/srv/models/*', '/srv/models/a.yaml']),
    )
    expect(loaded({ yaml: 'include: ["none/*.yaml"]\n' }).config.models).toEqual([])
  })

  it('refuses a value that two files set, with both places, and ids that two files use', () => {
    expect(
      problemsOf({
        yaml: `include: [more.yaml]\nserver: { port: 1 }\n${DEMO_YAML}${models('m')}`,
        files: { '/srv/more.yaml': `\nserver: { port: 2 }\n${models('m')}` },
      }),
    ).toEqual([
      '/srv/more.yaml:2 server.port: this key is set twice: first at srv/millrace.yaml:2:11',
      '/srv/more.yaml:4 models[1].id: "m": this id is taken: first at srv/millrace.yaml:5:11',
    ])
  })

  it('names the file and line of a mistake in an included file', () => {
    expect(
      problemsOf({ yaml: 'include: [a.yaml]\n', files: { '/srv/a.yaml': '# one\nserver: { prot: 1 }\n' } }),
    ).toEqual(['/srv/a.yaml:2 server.prot: there is no such key'])
  })

  it('reports a missing variable of an included list once', () => {
    const upstream = `{ id: far, wire: chat, base_url: "https://far.example/v1", timeouts: { idle: "\${NONE}" } }`
    expect(
      problemsOf({ yaml: `include: [a.yaml]\n${DEMO_YAML}`, files: { '/srv/a.yaml': `upstreams: [${upstream}]\n` } }),
    ).toEqual(['/srv/a.yaml:1 upstreams[0].timeouts.idle: environment variable NONE is not set'])
  })

  it('refuses what is missing, circles, files that are included twice, and files that are no map', () => {
    const of = (include: string, files: Readonly<Record<string, string>> = {}) =>
      problemsOf({ yaml: `include: [${include}]\n`, files })
    expect(of('a.yaml')).toEqual(['/srv/millrace.yaml:1 include[0]: there is no file /srv/a.yaml'])
    expect(of('a.yaml', { '/srv/a.yaml': 'include: [millrace.yaml]\n' })).toEqual([
      '/srv/a.yaml:1 include[0]: /srv/millrace.yaml includes itself',
    ])
    expect(of('a.yaml, "*.yaml"', { '/srv/a.yaml': '' })).toContain(
      '/srv/millrace.yaml:1 include[1]: /srv/a.yaml is included twice',
    )
    expect(of('a.yaml', { '/srv/a.yaml': '[1]' })).toEqual([
      '/srv/millrace.yaml:1 include[0]: /srv/a.yaml is not a map',
    ])
  })

  it('has a bound of depth and of number', () => {
    const chain = Object.fromEntries(
      Array.from({ length: 9 }, (_, level) => [`/srv/${level}.yaml`, `include: [${level + 1}.yaml]\n`]),
    )
    expect(problemsOf({ yaml: 'include: [0.yaml]\n', files: chain })).toEqual([
      '/srv/4.yaml:1 include[0]: the files include each other too deep',
    ])
    const many = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`/srv/m/${index}.yaml`, '']))
    expect(problemsOf({ yaml: 'include: ["m/*.yaml"]\n', files: many })[0]).toContain('too many files are included')
  })
})
