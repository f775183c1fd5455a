type T<K extends string> = K extends `a${infer R}` ? R : never;
interface I { a?: number; readonly [k: string]: unknown }
enum E { A = 1, B }
class A<T> extends B implements I {
  #p = 1; static q: string = "x"; constructor(private readonly r = 2) { super(); this.#p = r }
  get v(): number { return this.#p! } async *go(...a: number[]) { yield* a }
}
for (const [i, {a = 1, b: [c]}] of Object.entries(o)) { x ??= i; x += `${a}`; delete o[i] }
label: for (let i = 0, j; i < 3; i++) { if (i) continue label; else break; }
do { try { throw /[/'"]/g.exec(s) } catch { } finally { } } while (a ? b : c);
switch (x) { case 1: default: (a, b) => ({a, ...b}) }
export default async function f(a: T<"ab">, b = a as unknown as I) { return await a?.b?.[0]?.(b) }
const t = x satisfies I, u = <any>y, v = tag`a${1}b`, w = a / b / c, z = (-1) ** 2
