import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, posix } from 'node:path'
import { Marked } from 'marked'

const HOME = 'docs/README.md'
/** Code and pages for contributors are in the repository only. */
const SHOWN = /^docs\/.*\.(?:md|svg|png)$/

/** Every page that can be reached from the first one, with its HTML and sections, and the images that they show. */
export function readPages(root) {
  const pages = new Map()
  const images = new Set()
  const waiting = [HOME]
  for (const source of waiting) {
    if (pages.has(source)) continue
    const page = readPage(root, source)
    pages.set(source, page)
    for (const target of page.targets) {
      if (!existsSync(join(root, target))) throw new Error(`${source} links to ${target}, which does not exist`)
      if (target.endsWith('.md')) waiting.push(target)
      else images.add(target)
    }
  }
  return { pages: [...pages.values()], images: [...images] }
}

/** The file of a page or an image, below the folder of the site. */
export const fileOf = (source) =>
  source
    .slice('docs/'.length)
    .replace(/README\.md$/, 'index.md')
    .replace(/\.md$/, '.html')

/** Below the address of the site: `operate/keys`, and nothing for the first page. */
export const addressOf = (source) => fileOf(source).replace(/^index\.html$|\.html$/, '')

/** From one page to another. It is relative, because a proxy may serve the site below a path of its own. */
export function hrefFrom(page, target) {
  const up = '../'.repeat(addressOf(page).split('/').length - 1)
  return `${up}${addressOf(target)}` || './'
}

/** As GitHub makes them: words in lower case, joined by hyphens. */
const slugOf = (heading) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

function readPage(root, source) {
  const tokens = lexer.lexer(readFileSync(join(root, source), 'utf8'))
  const sections = []
  for (const token of tokens) {
    if (token.type === 'heading') {
      const heading = plainText(token)
      sections.push({ heading, slug: slugOf(heading), depth: token.depth, text: '' })
    } else if (sections.length > 0) sections.at(-1).text += `${plainText(token)} `
  }
  const targets = []
  const html = new Marked({ renderer: rendererOf(source, targets) }).parser(tokens)
  return { source, title: sections[0]?.heading ?? source, html, sections, targets }
}

const lexer = new Marked()

/** The words of a token, for search and for names of headings. */
function plainText(token) {
  if (token.type === 'table') {
    return [token.header, ...token.rows].map((row) => row.map(plainText).join(' ')).join(' ')
  }
  const inner = token.tokens ?? token.items
  if (inner !== undefined) return inner.map(plainText).join(token.type === 'list' ? ' ' : '')
  return token.type === 'br' ? ' ' : (token.text ?? '')
}

function rendererOf(source, targets) {
  /** Undefined for a file that is not part of the site. */
  const linkTo = (href) => {
    if (/^[a-z]+:/.test(href)) return { href, isOnTheWeb: true }
    const [path, anchor] = href.split('#')
    const hash = anchor === undefined ? '' : `#${anchor}`
    if (path === '') return { href: hash }
    const target = posix.join(dirname(source), path)
    if (!SHOWN.test(target)) return undefined
    targets.push(target)
    return { href: `${hrefFrom(source, target)}${hash}` }
  }
  return {
    heading({ tokens, depth, ...token }) {
      const slug = slugOf(plainText({ tokens, ...token }))
      const link = depth === 1 ? '' : ` <a class="anchor" href="#${slug}" aria-label="Link to this section">#</a>`
      return `<h${depth} id="${slug}">${this.parser.parseInline(tokens)}${link}</h${depth}>\n`
    },
    link({ href, tokens }) {
      const inner = this.parser.parseInline(tokens)
      const link = linkTo(href)
      if (link === undefined) return inner
      const foreign = link.isOnTheWeb ? ' rel="noreferrer"' : ''
      return `<a href="${escapeHtml(link.href)}"${foreign}>${inner}</a>`
    },
    image({ href, text }) {
      return `<img src="${escapeHtml(linkTo(href)?.href ?? href)}" alt="${escapeHtml(text)}">`
    },
    table({ header, rows }) {
      const rowOf = (cells, tag) =>
        `<tr>${cells.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('')}</tr>`
      const head = `<thead>${rowOf(header, 'th')}</thead>`
      // Wide tables scroll by themselves.
      return `<div class="table" tabindex="0"><table>${head}<tbody>${rows.map((row) => rowOf(row, 'td')).join('\n')}</tbody></table></div>\n`
    },
    code({ text }) {
      return `<pre tabindex="0"><code>${escapeHtml(text)}</code></pre>\n`
    },
    // Markdown shows what looks like a tag as text.
    html({ text }) {
      return escapeHtml(text)
    },
  }
}

export const escapeHtml = (text) =>
  text.replace(/[&<>"]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[sign])
