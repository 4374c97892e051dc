// The manifests and the chart, against the schemas of the Kubernetes API. No cluster is asked.
import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAllDocuments } from 'yaml'
import { check, openFolder, ROOT, read, requireProgram, run, Skip } from '../lib/machine.mjs'

const CHART = 'deploy/helm/millrace'
/** The schemas, generated from the API's description. */
const MODELS = ['kubernetes-models@5', '@kubernetes-models/validate@5']

export const kubernetesParts = { kubernetes, helm }

async function kubernetes() {
  const validate = await loadSchemas()
  const files = readdirSync(join(ROOT, 'deploy/kubernetes'))
  const objects = files.flatMap((file) => objectsIn(read(`deploy/kubernetes/${file}`)))
  for (const object of objects) await validate(object)
  await configurationsAreValid(objects)
  return `${objects.length} objects of ${files.length} files`
}

async function helm() {
  const values = read(`${CHART}/values.yaml`)
  const render = await findRenderer()
  const validate = await loadSchemas()
  const kinds = []
  for (const storage of ['sqlite', 'postgres']) {
    const objects = objectsIn(await render(values.replace('storage: sqlite', `storage: ${storage}`)))
    for (const object of objects) await validate(object)
    await configurationsAreValid(objects)
    kinds.push(
      objects
        .map(({ kind }) => kind)
        .sort()
        .join(', '),
    )
  }
  check(kinds[0] === 'ConfigMap, Service, StatefulSet', kinds[0])
  check(kinds[1] === 'ConfigMap, Deployment, PodDisruptionBudget, Service', kinds[1])
  const refused = await render(values.replace('storage: sqlite', 'storage: mysql')).catch((error) => error.message)
  check(/storage is sqlite or postgres/.test(refused), 'another storage is refused')
  return `${kinds.join('; ')}, rendered with ${render.by}`
}

function objectsIn(text) {
  return parseAllDocuments(text).flatMap((document) => {
    check(document.errors.length === 0, `it is YAML: ${document.errors}`)
    return document.toJS() ?? []
  })
}

/** What a ConfigMap mounts is a configuration that the program accepts. */
async function configurationsAreValid(objects) {
  for (const { data } of objects.filter(({ kind }) => kind === 'ConfigMap')) {
    const folder = openFolder('configuration')
    writeFileSync(join(folder, 'millrace.yaml'), data['millrace.yaml'])
    await run(process.execPath, [join(ROOT, 'dist/app/main.js'), 'check', '--config', join(folder, 'millrace.yaml')])
  }
}

async function loadSchemas() {
  const folder = join(ROOT, '.cache', 'kubernetes-models')
  if (!existsSync(join(folder, 'node_modules', 'kubernetes-models'))) {
    mkdirSync(folder, { recursive: true })
    const args = ['install', '--prefix', folder, '--ignore-scripts', '--no-audit', '--no-fund', ...MODELS]
    const { code } = await run('npm', args, { cwd: folder, mayFail: true })
    if (code !== 0) throw new Skip('the package with the schemas could not be installed')
  }
  return async (object) => {
    const models = await import(join(folder, 'node_modules/kubernetes-models', object.apiVersion, 'index.js'))
    const Model = models[object.kind]
    check(Model !== undefined, `${object.apiVersion} has a ${object.kind}`)
    new Model(object).validate()
  }
}

/** Helm itself, or its template libraries from Debian. */
async function findRenderer() {
  const folder = openFolder('chart')
  const helmed = await run('helm', ['version'], { mayFail: true }).catch(() => undefined)
  if (helmed?.code === 0) {
    const render = async (values) =>
      (await run('helm', ['template', 'millrace', join(ROOT, CHART), '--values', '-'], { input: values })).out
    return Object.assign(render, { by: 'helm' })
  }
  const go = requireProgram('go')
  const LIBRARIES = '/usr/share/gocode'
  if (!existsSync(join(LIBRARIES, 'src/github.com/Masterminds/sprig')))
    throw new Skip('neither helm nor its libraries are installed')
  const program = join(folder, 'render-chart')
  const env = {
    ...process.env,
    GO111MODULE: 'off',
    GOPATH: LIBRARIES,
    GOFLAGS: '',
    GOCACHE: join(ROOT, '.cache', 'go'),
  }
  await run(go, ['build', '-o', program, join(ROOT, 'test/deploy/lib/render-chart.go')], { env })
  const render = async (values) => (await run(program, [join(ROOT, CHART), 'millrace'], { input: values })).out
  return Object.assign(render, { by: "Helm's template libraries" })
}
