// A real provider of OpenID Connect on loopback. Who signs in is whoever they say they are: the tests
// are about what a hub makes of the provider's answers. Prints its issuer when it listens.

import { createServer } from "node:http";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const task = JSON.parse(process.argv[2]);
const { Provider } = await import(pathToFileURL(join(task.modules, "oidc-provider/lib/index.js")).href);

const groups = { sam: ["staff"], olga: ["staff", "security"] };
const claims = (id) => ({
  sub: id,
  email: `${id}@example.org`,
  email_verified: id !== "eve",
  groups: groups[id] ?? [],
});

const server = createServer();
server.listen(0, "127.0.0.1", () => {
  const issuer = `http://127.0.0.1:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{ client_id: "hub", client_secret: "a secret of the hub", redirect_uris: [task.redirect] }],
    pkce: { required: () => true },
    scopes: ["openid", "email", "groups"],
    claims: { openid: ["sub"], email: ["email", "email_verified"], groups: ["groups"] },
    cookies: { keys: ["a key of the tests"] },
    findAccount: (_, id) => ({ accountId: id, claims: () => claims(id) }),
    // Nobody is asked whether the hub may know their address.
    async loadExistingGrant({ oidc }) {
      const grant = new oidc.provider.Grant({
        clientId: oidc.client.clientId,
        accountId: oidc.session.accountId,
      });
      grant.addOIDCScope("openid email groups");
      await grant.save();
      return grant;
    },
  });
  server.on("request", provider.callback());
  process.stdout.write(`${issuer}\n`);
});
// It ends with the test.
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
