// Verifies signatures with Sigstore's own library: verify.mjs FOLDER. Reads `FOLDER/key.pem`, and prints for each of the
// other files there, in the order of their names, `NAME accepted` or `NAME refused CODE`.

import { readFileSync, readdirSync } from 'node:fs';
import { createPublicKey } from 'node:crypto';
import { join } from 'node:path';
import { createRequire } from 'node:module';

// The packages lie beside cargo's files, not beside this one.
const require = createRequire(join(process.cwd(), 'package.json'));
const { bundleFromJSON } = require('@sigstore/bundle');
const { Verifier, toSignedEntity } = require('@sigstore/verify');

const [folder] = process.argv.slice(2);
const key = { publicKey: createPublicKey(readFileSync(join(folder, 'key.pem'), 'utf8')), validFor: () => true };
// The key is known beforehand; there is no log and no clock that would have to agree.
const material = { certificateAuthorities: [], timestampAuthorities: [], tlogs: [], ctlogs: [], publicKey: () => key };
const verifier = new Verifier(material, { tlogThreshold: 0, ctlogThreshold: 0, timestampThreshold: 0 });

for (const name of readdirSync(folder).filter((name) => name !== 'key.pem').sort()) {
  try {
    verifier.verify(toSignedEntity(bundleFromJSON(JSON.parse(readFileSync(join(folder, name), 'utf8')))));
    console.log(`${name} accepted`);
  } catch (error) {
    console.log(`${name} refused ${error.code ?? error}`);
  }
}
